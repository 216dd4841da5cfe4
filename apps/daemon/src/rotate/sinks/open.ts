import type { Sink } from '@keywarden/runtime/config';
import { commandSink } from './command.ts';
import { fileSink } from './file.ts';
import type { OpenSink, Target } from './sink.ts';

/** Opens a configured sink for one target. */
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

/** Replaces each name in braces by the key's value. A value can be any text: it cannot lead to another folder or become an option. */
function fillIn(text: string, { lineage, name, organization, project }: Target): string {
  // `line` is the former name of `lineage`.
  const values: Record<string, string> = {
    lineage,
    line: lineage,
    name,
    organization: organization ?? '',
    project: project ?? '',
  };
  return text.replaceAll(/\{(\w+)\}/g, (_whole, word: string) =>
    (values[word] ?? '').replaceAll(/[^A-Za-z0-9._-]/g, '_').replace(/^[.-]+/, '_'),
  );
}
