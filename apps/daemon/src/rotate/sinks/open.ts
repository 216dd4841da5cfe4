import type { Config, Sink } from '@keywarden/runtime/config';
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

const ofLineage = /\{line(age)?\}|KEYWARDEN_LINE(AGE)?\b/;
const ofMore = /\{(control_plane|organization|project)\}|KEYWARDEN_(CONTROL_PLANE|ORGANIZATION_ID|PROJECT_ID)\b/;

/** Lists, in words, the commands that would replace the secret of one control plane's key by that of another's: the id of a key is unique in one of them. */
export function listMixedSinks({
  sinks,
  connections,
}: Pick<Config, 'sinks'> & { connections: Pick<Config['connections'][number], 'identity'>[] }): string[] {
  if (new Set(connections.map(({ identity }) => identity)).size < 2) return [];
  return sinks.flatMap((sink) => {
    // A file belongs to one lineage.
    const words = sink.kind === 'file' ? '' : sink.command.join(' ');
    return ofLineage.test(words) && !ofMore.test(words)
      ? [`the command of sink ${sink.name} does not tell control planes apart; add {control_plane} beside {lineage}`]
      : [];
  });
}

/** Replaces each name in braces by the key's value. A value can be any text: it cannot lead to another folder or become an option. */
function fillIn(text: string, { controlPlane, lineage, name, organization, project }: Target): string {
  // `line` is the former name of `lineage`.
  const values: Record<string, string> = {
    control_plane: controlPlane,
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
