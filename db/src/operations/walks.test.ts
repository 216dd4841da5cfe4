import { readFileSync } from 'node:fs';
import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeOperationPartitions, saveOperationPage } from '../daemon.ts';
import { readPage } from '../report.ts';
import { operationList } from './list.ts';
import { forgetOpenWalk } from './walks.ts';

let store: TestStore;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  controlPlane = await makeControlPlane(store.sql);
  await makeOperationPartitions(store.sql, ['2026-05']);
});
afterAll(async () => await store.close());

interface Walk {
  beganAt: string;
  reached: string;
  isEnd: boolean;
}

const at = (day: number, hour: number) => new Date(Date.UTC(2026, 4, day, hour)).toISOString().replace('.000Z', 'Z');
const mostDays = 12;
/** Walks of different days, in any order: two connections may see one project. */
const walks: fc.Arbitrary<Walk[]> = fc
  .uniqueArray(fc.integer({ min: 2, max: mostDays }), { maxLength: 8 })
  .chain((days) =>
    fc.tuple(
      ...days.map((day) =>
        fc.record({ depth: fc.integer({ min: 0, max: day - 1 }), isEnd: fc.boolean() }).map(({ depth, isEnd }) => ({
          beganAt: at(day, 12),
          reached: at(day - depth, 0),
          isEnd,
        })),
      ),
    ),
  );

/** The last walk that reached a row: rows of the exact time at which a walk stopped may have been left out. */
function lastSeen(all: Walk[], createdAt: string): string | null {
  const reaching = all.filter(
    ({ beganAt, reached, isEnd }) => beganAt >= createdAt && (reached < createdAt || (isEnd && reached === createdAt)),
  );
  return (
    reaching
      .map(({ beganAt }) => beganAt)
      .toSorted()
      .at(-1) ?? null
  );
}

/** Returns whether `a` adds nothing to `b`. */
const isRedundant = (a: Walk, b: Walk) =>
  a !== b && b.beganAt >= a.beganAt && (b.reached < a.reached || (b.reached === a.reached && (b.isEnd || !a.isEnd)));

const storedWalks = async (project: string) =>
  (
    await store.sql`
      select to_json(began_at)#>>'{}' as "beganAt", to_json(reached)#>>'{}' as reached, to_end as "isEnd" from keywarden.completed_walk
      where project_number = ${project} order by began_at`
  ).map(({ beganAt, reached, isEnd }) => ({
    beganAt: String(beganAt).replace('+00:00', 'Z'),
    reached: String(reached).replace('+00:00', 'Z'),
    isEnd,
  }));

test('A6: each operation was last seen by the last walk that reached it, and walks that say nothing more are not kept', async () => {
  const property = fc.asyncProperty(walks, async (drawn) => {
    const project = await makeProject(store.sql, controlPlane);
    const times = Array.from({ length: mostDays }, (_, day) => [
      at(day + 1, 0),
      at(day + 1, 12),
      at(day + 1, 18),
    ]).flat();
    const operations = times.map((createdAt, index) => makeWireOperation(index, { createdAt }));
    await saveOperationPage(store.sql, { project, operations });
    for (const walk of drawn)
      await saveOperationPage(store.sql, { project, operations: [], walk: { ...walk, floor: null, next: null } });
    const { items } = await readPage(store.db, operationList({}, [project]), { limit: 1000, after: null });
    const seen = items.map((item) => JSON.parse(item) as { created_at: string; last_seen_upstream_at: string | null });
    expect(seen.map(({ created_at: of, last_seen_upstream_at: seenAt }) => [of, seenAt])).toEqual(
      times.map((of) => [of, lastSeen(drawn, of)]).toReversed(),
    );
    const needed = drawn.filter((walk) => !drawn.some((other) => isRedundant(walk, other)));
    expect(await storedWalks(project)).toEqual(needed.toSorted((a, b) => (a.beganAt < b.beganAt ? -1 : 1)));
  });
  await fc.assert(property, { numRuns: 60 });
});

test('the migration that deletes redundant walks keeps the others', async () => {
  const file = readFileSync(new URL('../../migrations/0021_redundant_walks.sql', import.meta.url), 'utf8');
  const [removal = ''] = file.split('--> statement-breakpoint');
  const property = fc.asyncProperty(walks, async (drawn) => {
    const project = await makeProject(store.sql, controlPlane);
    for (const { beganAt, reached, isEnd } of drawn)
      await store.sql`insert into keywarden.completed_walk values (${project}, ${beganAt}::timestamptz::date, ${isEnd}, ${beganAt}, ${reached})`;
    await store.sql.unsafe(removal);
    const needed = drawn.filter((walk) => !drawn.some((other) => isRedundant(walk, other)));
    expect(await storedWalks(project)).toEqual(needed.toSorted((a, b) => (a.beganAt < b.beganAt ? -1 : 1)));
  });
  await fc.assert(property, { numRuns: 60 });
});

test('A6: a walk of one project takes back no walk of another one', async () => {
  const [shallow, deep] = [await makeProject(store.sql, controlPlane), await makeProject(store.sql, controlPlane)];
  const walkedTo = async (project: string, walk: Walk) => {
    await saveOperationPage(store.sql, { project, operations: [], walk: { ...walk, floor: null, next: null } });
    return [walk];
  };
  const first = await walkedTo(shallow, { beganAt: at(2, 12), reached: at(2, 0), isEnd: false });
  const second = await walkedTo(deep, { beganAt: at(3, 12), reached: at(1, 0), isEnd: true });
  expect(await storedWalks(shallow)).toEqual(first);
  expect(await storedWalks(deep)).toEqual(second);
});

test('A6: of two walks of one day that end alike, the later one is kept; of two that began at one time, the one that reached deeper', async () => {
  const keptOf = async (...all: Walk[]) => {
    const project = await makeProject(store.sql, controlPlane);
    for (const walk of all)
      await saveOperationPage(store.sql, { project, operations: [], walk: { ...walk, floor: null, next: null } });
    return await storedWalks(project);
  };
  const deep = { beganAt: at(5, 10), reached: at(1, 0), isEnd: false };
  const later = { beganAt: at(5, 12), reached: at(4, 0), isEnd: false };
  expect(await keptOf(deep, later)).toEqual([later]);
  expect(await keptOf(deep, { ...deep, reached: at(4, 0) })).toEqual([deep]);
});

test('A3: a walk continues where its own project was left, and an earlier walk does not set back the time of the last one', async () => {
  const [one, other] = [await makeProject(store.sql, controlPlane), await makeProject(store.sql, controlPlane)];
  const stateOf = async (project: string) => {
    const [row] = await store.sql`
      select p.walked_at = ${at(5, 0)} as is_walked, w.began_at = ${at(6, 0)} and w.floor = ${at(2, 0)} and w.cursor = 'newer' as is_newer
      from keywarden.project p left join keywarden.open_walk w on w.project_number = p.number where p.number = ${project}`;
    return { ...row };
  };
  const save = async (project: string, day: number, step: object) => {
    const walk = { beganAt: at(day, 0), floor: null, next: null, reached: at(1, 0), isEnd: true, ...step };
    await saveOperationPage(store.sql, { project, operations: [], walk });
  };
  const next = { cursor: 'older', below: at(3, 0) };
  for (const project of [one, other]) {
    await save(project, 5, {});
    await save(project, 4, {});
    await save(project, 3, { next });
    await save(project, 6, { floor: at(2, 0), next: { ...next, cursor: 'newer' } });
    expect(await stateOf(project)).toEqual({ is_walked: true, is_newer: true });
  }
  await save(one, 7, {});
  await forgetOpenWalk(store.sql, one);
  expect(await stateOf(one)).toEqual({ is_walked: false, is_newer: null });
  expect(await stateOf(other)).toEqual({ is_walked: true, is_newer: true });
  await forgetOpenWalk(store.sql, other);
  expect(await stateOf(other)).toEqual({ is_walked: true, is_newer: null });
});
