import { codeOf } from '@keywarden/runtime';
import { sized } from '@keywarden/testkit';
import { decisions } from '@keywarden/testkit/at-once/decisions';
import { createFixture, type Fixture } from '@keywarden/testkit/at-once/fixture';
import { lists } from '@keywarden/testkit/at-once/lists';
import { processes } from '@keywarden/testkit/at-once/processes';
import { readers } from '@keywarden/testkit/at-once/readers';
import { drawn, nextRound, seed } from '@keywarden/testkit/at-once/rounds';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { assertCurrent } from './migrate.ts';
import type { Sql } from './sql.ts';
import { openStore } from './store.ts';

// The functions, views, triggers and grants are applied again while daemons, reports and people write and read.

let fixture: Fixture;
let before: unknown;
/** The number of writes that were drawn. Each has another seed, so that no two have the same input, such as the step of a reminder. */
let drawings = 0;
beforeAll(async () => {
  fixture = await createFixture(inject('postgresUrl'), { deadlockMs: 1000 });
  before = await readObjects(fixture.store.sql);
});
// This compares the rows with their events.
afterAll(async () => await fixture.store.close());

/** Migrates as a new version would whose files in db/functions and queues have changed. */
async function migrateAgain({ store: { sql, url } }: Fixture): Promise<void> {
  await sql`update keywarden.repeatable set sha256 = 'another'`;
  await sql`comment on schema keywarden_jobs is 'another'`;
  const migrated = await openStore({
    databaseUrl: url,
    dataFolder: '.',
    applicationName: 'migrate',
    migrations: 'migrate',
  });
  await migrated.close();
}

/** Returns the functions, triggers, views and tables, with their rights. */
const readObjects = async (sql: Sql) => [
  ...(await sql`
    select proname as name, proacl::text as rights, md5(pg_get_functiondef(oid)) as text from pg_proc where pronamespace = 'keywarden'::regnamespace
    union all
    select relname, relacl::text, relkind::text from pg_class
    where relnamespace in ('keywarden'::regnamespace, 'keywarden_jobs'::regnamespace) and relkind in ('r', 'p', 'v') and not relispartition
    union all
    select tgname, tgrelid::regclass::text, pg_get_triggerdef(t.oid) from pg_trigger t where not tgisinternal and tgparentid = 0
    order by 1, 2, 3`),
];

test.each(Object.entries({ ...lists, ...decisions, ...processes }))(
  'a migration beside several writers of %s and readers: none fails',
  async (_, noun) => {
    const any = fc.oneof(...drawn(noun.writers), ...drawn(readers));
    for (let run = 0; run < sized(2, 0.5); run += 1) {
      const of = await nextRound(fixture, noun);
      const failures: string[] = [];
      const migrated = new AbortController();
      const migrating = migrateAgain(of).finally(() => migrated.abort());
      const workers = Array.from({ length: 4 }, async () => {
        while (!migrated.signal.aborted) {
          drawings += 1;
          for (const { name, write, pause } of fc.sample(any, { numRuns: 1, seed: seed + drawings })) {
            await of.store.sql`select pg_sleep(${pause / 1000})`;
            await write(of).catch((error: unknown) => failures.push(`${name}: ${codeOf(error)}`));
          }
        }
      });
      await Promise.all([migrating, ...workers]);
      expect(failures, `TEST_SEED=${seed} draws the same work`).toEqual([]);
    }
    expect(await readObjects(fixture.store.sql)).toEqual(before);
    await assertCurrent(fixture.store.sql);
  },
);
