import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportMarkFile } from '@keywarden/db/report';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { createMarks } from './marks.ts';

/** Opens a store with the marks of a report. */
async function prepare() {
  const store = await createTestStore(inject('postgresUrl'));
  const { db } = await store.as('keywarden_report');
  const dataFolder = mkdtempSync(join(tmpdir(), 'keywarden-marks-'));
  const held = () => readFileSync(join(dataFolder, reportMarkFile), 'utf8').trim();
  return { store, held, marks: createMarks({ db, dataFolder }) };
}

test('R10: a store that lost an action of the report, but not the mark before it, is an older one', async () => {
  const { store, held, marks } = await prepare();
  let before = '';
  await marks.around(async () => void (before = held()));
  await store.sql`delete from keywarden.high_water_mark where mark::text <> ${before}`;
  await marks.check();
  expect(await store.sql`select kind from keywarden.incident`).toMatchObject([{ kind: 'high_water_mark' }]);
  await store.close();
});

test('R10: reports that find at once that the store lacks their marks open one incident, and none of them fails', async () => {
  const { store, marks } = await prepare();
  await marks.around(async () => {});
  await store.sql`delete from keywarden.high_water_mark`;
  let checked: Promise<void> | undefined;
  await store.sql.begin(async (tx) => {
    await tx`select keywarden.report_older_store()`;
    checked = marks.check();
    await store.untilBlocked(checked);
  });
  await checked;
  expect(await store.sql`select kind from keywarden.incident`).toEqual([{ kind: 'high_water_mark' }]);
  await store.close();
});

test('R10: of concurrent actions, the file keeps the last mark', async () => {
  const { store, held, marks } = await prepare();
  await Promise.all(Array.from({ length: 10 }, async () => await marks.around(async () => {})));
  const [newest] = await store.sql`select mark::text from keywarden.high_water_mark order by number desc limit 1`;
  expect(held()).toBe(newest?.mark);
  await store.close();
});

test('R10: an action without a mark after it is not said to have failed, and one that failed says why', async () => {
  const { store, marks } = await prepare();
  const allow = async () => await store.sql`alter table keywarden.high_water_mark drop constraint if exists refused`;
  const refuse = async () =>
    await store.sql`alter table keywarden.high_water_mark add constraint refused check (mark is null) not valid`;
  await expect(marks.around(refuse)).rejects.toThrow('This may have been done');
  await allow();
  const fail = async () => await refuse().then(() => Promise.reject(new Error('not your plan')));
  await expect(marks.around(fail)).rejects.toThrow('not your plan');
  await allow();
  await expect(marks.around(async () => await Promise.resolve('done'))).resolves.toBe('done');
  await store.close();
});

test('R10: the report opens one incident if the store lacks its last mark; a person closes it', async () => {
  const { store, held, marks } = await prepare();
  const incidents = async () => await store.sql`select kind, closed_at from keywarden.incident`;
  await marks.check();
  await marks.around(async () => {});
  const before = held();
  await marks.around(async () => {});
  expect(held()).not.toBe(before);
  await marks.check();
  expect(await incidents()).toEqual([]);
  // As if restored from a dump taken between the two marks.
  await store.sql`delete from keywarden.high_water_mark where mark::text <> ${before}`;
  await marks.check();
  expect(await incidents()).toMatchObject([{ kind: 'high_water_mark', closed_at: null }]);
  await store.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada'`;
  await marks.check();
  expect(await incidents()).toHaveLength(1);
  await store.close();
});
