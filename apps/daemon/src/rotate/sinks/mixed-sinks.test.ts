import { parseConfig } from '@keywarden/runtime/config';
import { expect, test } from 'vitest';
import { listMixedSinks } from './open.ts';

const [one, other] = ['https://one.example/api/v2', 'https://other.example/api/v2'];

function mixed(command: string[], ...urls: string[]): string[] {
  const { sinks } = parseConfig(JSON.stringify({ sinks: [{ name: 's', kind: 'command', command }] }), 'test');
  return listMixedSinks({ sinks, connections: urls.map((identity) => ({ identity })) });
}

test.each(['ci/{lineage}', '{line}', 'put "$KEYWARDEN_LINEAGE"'])(
  'a command that could replace the secret of another control plane is named: %s',
  (word) => {
    expect(mixed(['sh', word], one, other)).toEqual([
      'the command of sink s does not tell control planes apart; add {control_plane} beside {lineage}',
    ]);
    expect(mixed(['sh', word], one, one)).toEqual([]);
    for (const more of ['{control_plane}', '{organization}', '$KEYWARDEN_CONTROL_PLANE'])
      expect(mixed(['sh', word, more], one, other)).toEqual([]);
  },
);
