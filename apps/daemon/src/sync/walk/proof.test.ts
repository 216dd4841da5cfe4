import type { WireOperation } from '@keywarden/core/wire';
import { expect, test } from 'vitest';
import { proofOf } from './proof.ts';

const beganAt = '2026-06-01T12:00:00Z';
const settleMs = 900_000;
const settled = '2026-06-01T11:45:00.000Z';
const young = { createdAt: '2026-03-01T00:00:00.123456Z', walkedAt: null, settleMs };
const old = { ...young, createdAt: '2024-01-01T00:00:00Z' };
// Only a row's time matters here.
const rows = (...times: string[]) => times.map((createdAt) => ({ createdAt }) as WireOperation);
const page = {
  operations: rows('2026-05-01T00:00:00.5Z', '2026-04-01T00:00:00.25Z'),
  beganAt,
  answeredAt: beganAt,
  provedFrom: '2026-04-01T00:00:00.25Z',
};

test('A2: a page with a cursor proves what is between its last row and its cursor, both excluded', () => {
  const below = '2026-05-02T00:00:00.123456Z';
  expect(proofOf({ ...page, below, isEnd: false }, young)).toEqual({
    from: page.provedFrom,
    isFromIncluded: false,
    below,
  });
});

test('A8: nothing younger than settle is claimed, neither by the first page nor by a cursor', () => {
  const claimed = { from: page.provedFrom, isFromIncluded: false, below: settled };
  expect(proofOf({ ...page, below: null, isEnd: false }, young)).toEqual(claimed);
  expect(proofOf({ ...page, below: '2026-06-01T11:59:00Z', isEnd: false }, young)).toEqual(claimed);
});

test('A9: the end of the list proves a young project from its creation, an old one from the oldest row', () => {
  const provedOf = (project: typeof young) => proofOf({ ...page, below: null, isEnd: true }, project);
  expect(provedOf(young)).toMatchObject({ from: young.createdAt, isFromIncluded: true });
  expect(provedOf(old)).toMatchObject({ from: page.provedFrom, isFromIncluded: true });
  expect(proofOf({ ...page, operations: [], below: null, isEnd: true }, old)).toBeNull();
});

test('A9: an idle old project is covered since its previous walk, unless rows may have been pruned since then', () => {
  const idle = { ...page, operations: [], below: null, isEnd: true };
  expect(proofOf(idle, { ...old, walkedAt: '2026-05-20T00:15:00Z' })?.from).toBe('2026-05-20T00:00:00.000Z');
  expect(proofOf(idle, { ...old, walkedAt: '2025-10-01T00:00:00Z' })).toBeNull();
  // The previous walk left out what was younger than settle, and that may have been pruned.
  expect(proofOf(idle, { ...old, walkedAt: '2025-12-03T12:10:00Z' })).toBeNull();
  expect(proofOf(idle, { ...old, walkedAt: '2025-12-03T12:15:00Z' })?.from).toBe('2025-12-03T12:00:00.000Z');
});

test('A9: what the control plane still serves depends on when it answered with the end of the list, not on when the walk began', () => {
  const servedAtBegin = { ...young, createdAt: '2025-12-03T12:00:00Z' };
  const end = { ...page, below: null, isEnd: true };
  expect(proofOf(end, servedAtBegin)?.from).toBe(servedAtBegin.createdAt);
  expect(proofOf({ ...end, answeredAt: '2026-06-01T12:00:01Z' }, servedAtBegin)?.from).toBe(page.provedFrom);
});
