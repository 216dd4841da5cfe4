import { expect, test } from 'vitest';
import { verdictInWords } from './verify.ts';

test('what is wrong with many lines is said once, with the number of times', () => {
  const why = 'a receipt is not proven: its checkpoint is not signed with a given key';
  const wrong = [...Array.from({ length: 1200 }, () => why), 'a file is missing', why];
  expect(verdictInWords({ proven: ['a'], unproven: [], wrong }).split('\n')).toEqual([
    'NOT PROVEN.',
    'Contradicts the ledger:',
    expect.stringMatching(/^ {2}a receipt is not proven: .* key \(1,?201 times\)$/),
    '  a file is missing',
    'Proven:',
    '  a',
  ]);
});
