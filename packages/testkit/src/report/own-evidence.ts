import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { key, receiptOf } from './falsehoods.ts';
import { evidenceOf, linesOfRows, type OwnEvent } from './own-ledger.ts';
import { type Files, pack, verifyBytes } from './packs.ts';

interface Found {
  rank: number;
  proven: string[];
  unproven: string[];
  wrong: string[];
}

export const receiptsOf = (events: OwnEvent[], places = events.map((_event, place) => place)) =>
  places.map((index) => receiptOf(events, index));
export const coverage = { 'coverage/operations.ndjson': '' };

/** Returns functions that verify archives of evidence which a test wrote. */
export function useOwnEvidence() {
  const folder = mkdtempSync(join(tmpdir(), 'own-evidence-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const nowMs = Date.parse('2026-06-01T00:00:00Z');
  const verify = async (files: Files): Promise<Found> => {
    const { rank, words } = await verifyBytes(folder, pack(files), key.verifier.text, nowMs);
    return { rank, ...(JSON.parse(words) as { verdict: Omit<Found, 'rank'> }).verdict };
  };
  return {
    verify,
    /** Verifies an archive of one table. */
    verifyTable: async (table: string, rows: object[], events: OwnEvent[]) =>
      await verify(evidenceOf({ ...coverage, [`x-${table}.ndjson`]: linesOfRows(rows) }, receiptsOf(events))),
  };
}
