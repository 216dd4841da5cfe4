import type { ProvenEvent } from '@keywarden/core/ledger';
import { expect, test } from 'vitest';
import { dropOf, readLine, sealOf } from './receipt-lines.ts';

const recorded = '2026-05-02T00:30:00Z';
const day = { from: '2026-05-01T00:00:00Z', from_included: true, to: '2026-05-02T00:00:00Z', to_included: false };

const seal: ProvenEvent = {
  type: 'archive.sealed',
  subject: 'operation_seal/7',
  at: recorded,
  recorded,
  content: {
    number: '7',
    project: 'https://api.example quiet-river',
    day: '2026-05-01',
    operations: '0',
    root: '0'.repeat(64),
    covered: JSON.stringify([day]),
    gaps: '[]',
    replaces: null,
    sealed_at: recorded,
  },
  personal: {},
  hidden: [],
  index: 40,
  leaf: '',
  size: 50,
  root: '',
  origin: 'keywarden/log',
  witnesses: [],
};
const drop: ProvenEvent = {
  ...seal,
  type: 'retention.dropped',
  subject: 'operation_drop/2026-05-01',
  content: { month: '2026-05-01', dropped_at: recorded },
};

const checker = (proven: ProvenEvent | string) => ({ check: () => proven, head: () => null, leaves: new Map() });
const line = JSON.stringify({ receipt: 'a receipt' });

test('G8: a line has one receipt and nothing else', () => {
  expect(readLine(line)).toBe('a receipt');
  const others = ['{"receipt":"a","note":"b"}', '{"receipt":"a","receipt":"b"}', '{"receipt":1}', '"a"', '{', ''];
  expect(others.filter((other) => readLine(other) !== null)).toEqual([]);
});

test('G5: only a receipt that is proven, of a seal, proves a seal', () => {
  expect(sealOf(line, checker(seal))).toMatchObject({ seal: { day: '2026-05-01' }, index: 40, isLate: false });
  expect(sealOf('{', checker(seal))).toBe('a line of its seals is no receipt');
  expect(sealOf(line, checker('it is cut'))).toBe('a seal is not proven: it is cut');
  expect(sealOf(line, checker(drop))).toMatch(
    /^a receipt is of retention\.dropped of operation_drop\/2026-05-01, not of/,
  );
  expect(sealOf(line, checker({ ...seal, recorded: '2026-05-02T01:31:00Z' }))).toMatchObject({ isLate: true });
});

test('G5: only a receipt that is proven, of a month that was dropped, proves a drop', () => {
  expect(dropOf(line, checker(drop))).toEqual({ month: '2026-05', index: 40, unproven: [] });
  expect(dropOf(line, checker({ ...drop, recorded: '2026-05-02T01:31:00Z', hidden: ['dropped_by'] }))).toMatchObject({
    unproven: [
      'the dropped_by of the drop of 2026-05, which its receipt does not show',
      'the drop of 2026-05 was not recorded within an hour of its time',
    ],
  });
  for (const other of ['it is cut', seal, { ...drop, content: { month: '2026-05-01', dropped_at: null } }])
    expect(dropOf(line, checker(other))).toBeNull();
  expect(dropOf('{', checker(drop))).toBeNull();
});
