import type { SinkAnswer } from '@keywarden/core/rotation';
import type { Sink } from '@keywarden/runtime/config';
import { commandSink } from './command.ts';
import { fileSink } from './file.ts';

/** For whom a secret is: what a place may name, and what a command is told. */
export interface Target {
  /** The id of the line's first key, which stays the same through all rotations. */
  line: string;
  name: string;
  kind: string;
  organization: string | null;
  project: string | null;
  rotation: string;
  oldKeyId: string;
}

/** What became of a delivery. `mayHave`: it failed, and nobody can tell whether the secret is there all the same. */
export type Delivered = { isDelivered: true } | { isDelivered: false; why: string; mayHave: boolean };

/** Where the secrets of one target go. None of its answers repeats the secret, nor what a command printed. */
export interface OpenSink {
  /** The file, which is one line's alone; null where the sink itself tells lines apart. */
  file: string | null;
  /** Why it could take no secret now, as far as that can be seen before there is one. */
  check(): Promise<string | null>;
  deliver(secret: string, keyId: string, signal: AbortSignal): Promise<Delivered>;
  /** Whether it has the secret of a key. */
  ask(keyId: string, signal: AbortSignal): Promise<SinkAnswer>;
}

/** A configured sink for one target. */
export function openSink(sink: Sink, target: Target, variables: NodeJS.ProcessEnv): OpenSink {
  switch (sink.kind) {
    case 'file':
      return fileSink(fillIn(sink.path, target));
    case 'command':
      return commandSink(
        {
          ...sink,
          command: sink.command.map((part) => fillIn(part, target)),
          readCommand: sink.read_command?.map((part) => fillIn(part, target)),
          timeoutMs: sink.timeout.ms,
        },
        target,
        variables,
      );
    default:
      return sink satisfies never;
  }
}

/** Puts what is known of a key where its name stands in braces. A name is whatever somebody gave: it leads to no other folder, and is no option. */
function fillIn(text: string, { line, name, organization, project }: Target): string {
  const values: Record<string, string> = { line, name, organization: organization ?? '', project: project ?? '' };
  return text.replaceAll(/\{(\w+)\}/g, (_whole, word: string) =>
    (values[word] ?? '').replaceAll(/[^A-Za-z0-9._-]/g, '_').replace(/^[.-]+/, '_'),
  );
}
