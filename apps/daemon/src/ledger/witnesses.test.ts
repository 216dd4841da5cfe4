import { createSigningKey, parseSigningKey } from '@keywarden/core/ledger';
import { readEnvironment } from '@keywarden/runtime';
import { expect, test } from 'vitest';
import { readWitnesses } from './witnesses.ts';

const keyOf = (kind: 'log' | 'witness') =>
  parseSigningKey(createSigningKey('witness.example/one', kind))?.verifier.text ?? '';
const [log, witness] = [keyOf('log'), keyOf('witness')];
const read = (LEDGER_WITNESSES: string) => readWitnesses(readEnvironment({ LEDGER_WITNESSES }));

test('a line of LEDGER_WITNESSES is the key of a witness and its address', () => {
  expect(read(`${witness} https://w.example/`)).toMatchObject([{ url: 'https://w.example' }]);
  const variables = { LEDGER_WITNESSES: `${witness} http://w.example`, ALLOW_HTTP: '1' };
  expect(readWitnesses(readEnvironment(variables))).toMatchObject([{ url: 'http://w.example' }]);
});

test.each([
  'x',
  `${log} https://w.example`,
  `${witness} http://w.example`,
  `${witness} https://w.example more`,
  `${witness} https://ada:secret@w.example`,
  `${witness} https://w.example/?key=secret`,
])('another line is refused, and not shown: %s', (line) => {
  expect(() => read(line)).toThrow(/^A line of LEDGER_WITNESSES is not the public key of a witness/);
  expect(() => read(line)).not.toThrow(/secret/);
});
