import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalJson } from '@keywarden/core/values';
import {
  createKey,
  ledgerName,
  type OwnEvent,
  project,
  sealOf,
  signEvents,
} from '@keywarden/testkit/report/own-ledger';
import { afterAll, expect, test } from 'vitest';
import { verifyCopy } from './ledger-copy.ts';
import type { Beside } from './readers.ts';

// What a copy of a ledger says about an archive beside it, of a tree that it continues.

const folder = mkdtempSync(join(tmpdir(), 'copies-beside-'));
afterAll(() => rmSync(folder, { recursive: true }));

const key = createKey();
const event = (number: number): OwnEvent => ({
  type: 'plan.rejected',
  subject: `plan_rejection/${number}`,
  content: { number: String(number) },
});

/** Verifies a copy of these events beside an archive of a tree of the first of them. Returns what it says about the archive. */
function verifyBeside(events: OwnEvent[], size: number, archive: Partial<Beside>) {
  const copy = mkdtempSync(join(folder, 'copy-'));
  signEvents(events, [key]).writeCopy(copy);
  const first = events.slice(0, size);
  const root = /\n(\S{44})\n/.exec(signEvents(first, [key]).receipt(0))?.[1] ?? '';
  const head = { origin: ledgerName, size, root, witnesses: [] };
  const options = { keys: [key.verifier], nowMs: Date.parse('2026-06-01T00:00:00Z') };
  const { verdict } = verifyCopy(copy, options, [{ file: 'archive', head, seals: new Map(), ...archive }]);
  const about = (sentences: string[]) => sentences.filter((each) => each.startsWith('archive: '));
  return { proven: about(verdict.proven), unproven: about(verdict.unproven), wrong: about(verdict.wrong) };
}

test('an archive of evidence needs the receipts of all events of its tree, and of no later one', () => {
  const events = [1, 2, 3].map(event);
  expect(verifyBeside(events, 2, { events: new Set([0, 1]) })).toEqual({
    proven: ['archive: it has the receipts of all events of its tree but seals and exports'],
    unproven: [],
    wrong: [],
  });
  expect(verifyBeside(events, 2, { events: new Set([0]) })).toMatchObject({
    proven: [],
    wrong: ['archive: it has no receipt of plan.rejected of plan_rejection/2, event 1'],
  });
});

test('an archive without any seal needs those of its days and projects', () => {
  const days = ['2026-05-01', '2026-05-02', '2026-05-03', '2026-05-04'];
  const events = days.map((day, index) => sealOf(index + 1, { day, operations: 0 }));
  const ofDays = (projects: string[]) => ({ from: '2026-05-02', to: '2026-05-03', projects: new Set(projects) });
  const { unproven } = verifyBeside(events, 4, { sealedDays: ofDays([project]) });
  expect(unproven.map((each) => /the seal of (.*?);/.exec(each)?.[1])).toEqual([
    `${project} 2026-05-02`,
    `${project} 2026-05-03`,
  ]);
  expect(verifyBeside(events, 4, { sealedDays: ofDays(['another']) })).toEqual({
    proven: ['archive: none of its days has a newer seal, up to event 3'],
    unproven: [],
    wrong: [],
  });
});

test('a day that was sealed with gaps, and then without, needs no seal in an archive of gaps', () => {
  const day = '2026-05-01';
  const sealed = sealOf(1, { day, operations: 0 });
  const gap = { from: `${day}T00:00:00Z`, to: `${day}T01:00:00Z`, from_included: true, to_included: false };
  const rest = { from: `${day}T01:00:00Z`, to: '2026-05-02T00:00:00Z', from_included: true, to_included: false };
  const [covered, gaps] = [[rest], [{ ...gap, reason: 'not_walked' }]].map((each) => canonicalJson(each));
  const withGap = { ...sealed, content: { ...sealed.content, covered: covered ?? '', gaps: gaps ?? '' } };
  const again = sealOf(2, { day, operations: 0, replaces: '1' });
  const sealedDays = { from: day, to: day, projects: 'with gaps' } as const;
  expect(verifyBeside([withGap], 1, { sealedDays }).unproven).toHaveLength(1);
  expect(verifyBeside([withGap, again], 2, { sealedDays }).unproven).toEqual([]);
});
