import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportMarkFile } from '@keywarden/db/report';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { createMarks } from './marks.ts';

test('R10: the report opens one incident if the store lacks its last mark; a person closes it', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const { db } = await store.as('keywarden_report');
  const dataFolder = mkdtempSync(join(tmpdir(), 'keywarden-marks-'));
  const marks = createMarks({ db, dataFolder });
  const incidents = async () => await store.sql`select kind, closed_at from keywarden.incident`;
  await marks.check();
  await marks.move();
  const before = readFileSync(join(dataFolder, reportMarkFile), 'utf8');
  await marks.move();
  expect(readFileSync(join(dataFolder, reportMarkFile), 'utf8')).not.toBe(before);
  await marks.check();
  expect(await incidents()).toEqual([]);
  // As if restored from a dump taken between the two marks.
  await store.sql`delete from keywarden.high_water_mark where mark::text <> ${before.trim()}`;
  await marks.check();
  expect(await incidents()).toMatchObject([{ kind: 'high_water_mark', closed_at: null }]);
  await store.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada'`;
  await marks.check();
  expect(await incidents()).toHaveLength(1);
  await store.close();
});
