import type { ProvenEvent } from '@keywarden/core/ledger';
import { expect, test } from 'vitest';
import { rankOf, rankOfVerdict } from './verdict.ts';

const event: ProvenEvent = {
  type: 'plan.approved',
  subject: 'plan_approval/1',
  at: '2026-05-01T00:00:00Z',
  recorded: '2026-05-01T00:00:00Z',
  content: {},
  personal: {},
  hidden: [],
  index: 0,
  leaf: '',
  size: 1,
  root: '',
  origin: 'keywarden/log',
  witnesses: [],
};

test('G3: a receipt that hides personal data, or lacks a witness, does not count as proven completely', () => {
  const rank = (change: Partial<ProvenEvent>, unproven: string[] = []) =>
    rankOf({ kind: 'receipt', event: { ...event, ...change }, unproven });
  expect([rank({}), rank({ hidden: ['by'] }), rank({}, ['a witness'])]).toEqual([0, 1, 1]);
  expect(rankOf({ kind: 'receipt', event: 'it is cut', unproven: [] })).toBe(2);
});

test('G7: an archive that proves nothing does not count as proven, and one mistake counts above all else', () => {
  const rank = (proven: string[], unproven: string[] = [], wrong: string[] = []) =>
    rankOfVerdict({ proven, unproven, wrong });
  expect([rank(['a']), rank([]), rank(['a'], ['b']), rank(['a'], ['b'], ['c'])]).toEqual([0, 1, 1, 2]);
});
