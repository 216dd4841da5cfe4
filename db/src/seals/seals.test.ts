import { hashOperation, readMembers, rootOfLeaves } from '@keywarden/core/ledger';
import { until } from '@keywarden/testkit';
import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeOperationPartitions, saveOperationPage, saveProjects } from '../daemon.ts';
import { readPage } from '../list.ts';
import { operationList } from '../operations/list.ts';
import type { Store } from '../store.ts';
import { checkSeals } from './check.ts';
import { sealDays } from './seals.ts';

let store: TestStore;
let daemon: Store;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
  await makeOperationPartitions(daemon.sql, ['2026-05']);
});
afterAll(async () => await store.close());

const day = (number: number) => `2026-05-${String(number).padStart(2, '0')}`;
const at = (number: number) => `${day(number)}T00:00:00Z`;
/** Seconds from 1 May to noon of a day of May. */
const noon = (number: number) => (number - 1) * 86_400 + 43_200;
const proofOf = (from: number, below: number) => ({ from: at(from), isFromIncluded: true, below: at(below) });

/** Creates a walked project that was last listed on a day of May. */
async function makeWalked(listed: number): Promise<string> {
  const project = await makeProject(daemon.sql, controlPlane);
  await store.sql`
    update keywarden.project set created_at = ${at(1)}, walked_at = ${at(listed)}, last_seen_at = ${at(listed)} where number = ${project}`;
  return project;
}

const seal = async () => await sealDays(daemon.sql, { signal: new AbortController().signal });

async function sealsOf(project: string) {
  const rows = await store.sql`
    select number::text, day::text, operations::int, root, gaps, replaces::text from keywarden.operation_seal s where project_number = ${project} order by s.number`;
  return rows.map((row) => ({ ...row })) as unknown as {
    number: string;
    day: string;
    operations: number;
    root: string;
    gaps: string;
    replaces: string | null;
  }[];
}

/** Lets changes count as old enough to be sealed again. */
const waitQuiet = async () =>
  await store.sql`update keywarden.operation_sealing set changed_at = changed_at - interval '1 hour'`;

/** Returns the root of a day as anybody computes it from the lines of an export. */
async function rootOfDay(project: string, number: number): Promise<string> {
  const list = operationList({ from: at(number), to: at(number + 1) }, [project]);
  const { items } = await readPage(daemon.db, list, { limit: 1000, after: null });
  return Buffer.from(rootOfLeaves(items.toReversed().map((line) => hashOperation(readMembers(line))))).toString('hex');
}

test('each settled and covered day is sealed once, with the root of its operations as an export shows them', async () => {
  const project = await makeWalked(6);
  const odd = {
    error: 'a"b\\c\b\f\n\r\t\u001f\u007f\u2028é😀, {"extra": "}"}',
    retryAt: '2026-05-03T05:04:05.100+02:00',
    createdAt: '2026-05-03T03:04:05.123456Z',
    failuresCount: 3,
    totalDurationMs: undefined,
    extra: { b: [1, 2.5, 1e21, '}'], a: { 'x"}': null, é: true }, 'key ,': '"' },
  };
  const operations = [makeWireOperation(noon(2)), makeWireOperation(noon(3), odd), makeWireOperation(noon(3) + 1)];
  await saveOperationPage(daemon.sql, { project, operations, proof: proofOf(2, 5) });
  expect(await seal()).toEqual({ projects: 1, days: 4, failures: [] });
  expect(await seal()).toEqual({ projects: 0, days: 0, failures: [] });
  const seals = await sealsOf(project);
  expect(seals.map((each) => [each.day, each.operations, each.replaces])).toEqual([
    [day(2), 1, null],
    [day(3), 2, null],
    [day(4), 0, null],
    [day(5), 0, null],
  ]);
  expect(seals[0]?.root).toBe(await rootOfDay(project, 2));
  expect(seals[1]?.root).toBe(await rootOfDay(project, 3));
  expect(seals[3]?.root).toBe(Buffer.from(rootOfLeaves([])).toString('hex'));
  // The fifth is sealed with its gap, because it ended long ago.
  expect(seals.map(({ gaps }) => JSON.parse(gaps) as object[])).toEqual([
    [],
    [],
    [],
    [{ from: at(5), from_included: true, to: at(6), to_included: false, reason: 'recent' }],
  ]);
  const events = await store.sql`
    select content::jsonb as content from keywarden.ledger_event where type = 'archive.sealed' and subject = ${`operation_seal/${seals[1]?.number}`}`;
  expect(events.map(({ content }) => content as object)).toEqual([
    expect.objectContaining({ day: day(3), operations: '2', root: seals[1]?.root, gaps: '[]', replaces: null }),
  ]);
});

test('an operation that changed, a late row and coverage that came later seal their days again, and no other day', async () => {
  const project = await makeWalked(6);
  const running = makeWireOperation(noon(2), { status: 'running' });
  await saveOperationPage(daemon.sql, { project, operations: [running], proof: proofOf(1, 4) });
  await seal();
  const [, second, third] = await sealsOf(project);
  await saveOperationPage(daemon.sql, {
    project,
    operations: [
      { ...running, status: 'finished', updatedAt: '2026-05-02T13:00:00Z' },
      makeWireOperation(noon(3), { createdAt: '2026-05-03T00:00:00Z' }),
    ],
  });
  await seal();
  expect(await sealsOf(project)).toHaveLength(5);
  await waitQuiet();
  expect(await seal()).toEqual({ projects: 1, days: 2, failures: [] });
  expect((await sealsOf(project)).slice(5).map((each) => [each.day, each.operations, each.replaces])).toEqual([
    [day(2), 1, second?.number],
    [day(3), 1, third?.number],
  ]);
  await saveOperationPage(daemon.sql, { project, operations: [], proof: proofOf(4, 6) });
  await waitQuiet();
  expect(await seal()).toEqual({ projects: 1, days: 2, failures: [] });
  expect((await sealsOf(project)).slice(7).map((each) => [each.day, each.gaps])).toEqual([
    [day(4), '[]'],
    [day(5), '[]'],
  ]);
  // Writing a page twice changes nothing.
  await saveOperationPage(daemon.sql, { project, operations: [], proof: proofOf(4, 6) });
  await waitQuiet();
  expect(await seal()).toEqual({ projects: 0, days: 0, failures: [] });
});

test('a row that a page is writing is in the seal: the seal waits for the page', async () => {
  const project = await makeWalked(4);
  await saveOperationPage(daemon.sql, {
    project,
    operations: [makeWireOperation(noon(2) + 7)],
    proof: proofOf(2, 4),
  });
  let sealing: Promise<unknown> = Promise.resolve();
  await store.sql.begin(async (tx) => {
    await saveOperationPage(Object.assign(tx, { options: store.sql.options }) as never, {
      project,
      operations: [makeWireOperation(noon(2) + 8)],
    });
    sealing = seal();
    await until(
      async () => (await store.sql`select from pg_locks where locktype = 'advisory' and not granted`).length === 1,
    );
    expect(await sealsOf(project)).toEqual([]);
  });
  await sealing;
  expect((await sealsOf(project)).map(({ operations }) => operations)).toEqual([2, 0]);
});

test('a project without a whole walk is not sealed, and one that is gone is sealed to its last day', async () => {
  const unwalked = await makeWalked(6);
  const gone = await makeWalked(20);
  await store.sql`update keywarden.project set walked_at = null where number = ${unwalked}`;
  await store.sql`update keywarden.project set missing_since = '2026-05-03T10:00:00Z', gone_at = '2026-05-03T10:00:00Z' where number = ${gone}`;
  for (const project of [unwalked, gone])
    await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2))], proof: proofOf(2, 3) });
  await seal();
  expect(await sealsOf(unwalked)).toEqual([]);
  expect((await sealsOf(gone)).map((each) => [each.day, each.gaps.includes('deleted')])).toEqual([
    [day(2), false],
    [day(3), true],
  ]);
});

test('a project that cannot be sealed keeps no other from it, and is sealed once it can be', async () => {
  const projects: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    const project = await makeWalked(4);
    await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2))], proof: proofOf(1, 4) });
    projects.push(project);
  }
  const [poison = '', ...others] = projects;
  await store.sql.unsafe(
    `alter table keywarden.operation_seal add constraint refuses check (project_number <> ${poison}) not valid`,
  );
  const { failures } = await seal();
  expect(failures.map(({ project }) => project)).toEqual([poison]);
  for (const project of others) expect((await sealsOf(project)).map((each) => each.day)).toEqual([1, 2, 3].map(day));
  expect(await sealsOf(poison)).toEqual([]);
  await store.sql`alter table keywarden.operation_seal drop constraint refuses`;
  expect((await seal()).failures).toEqual([]);
  expect((await sealsOf(poison)).map((each) => each.day)).toEqual([1, 2, 3].map(day));
});

/** Drops a month as retention does, and creates it anew for the next test. */
async function dropMonth(month: string): Promise<void> {
  await store.sql`delete from keywarden.operation_retention`;
  await store.sql`insert into keywarden.operation_retention (keep) values ('214 days')`;
  await store.sql`
    insert into keywarden.operation_drop (month, announced_at, operations, bytes) values (${`${month}-01`}, now() - interval '2 days', 0, 0)`;
  await daemon.sql`select keywarden.drop_operation_month(${`${month}-01`}, 'a test')`;
}

/** Creates a project whose month 2025-MONTH has one operation on its second day, and is covered and sealed. */
async function makeSealedMonth(month: string) {
  await makeOperationPartitions(daemon.sql, [`2025-${month}`]);
  const project = await makeProject(daemon.sql, controlPlane);
  const [from, below] = [`2025-${month}-01T00:00:00Z`, `2025-${month}-05T00:00:00Z`];
  await store.sql`
    update keywarden.project set created_at = ${from}, walked_at = ${below}, last_seen_at = ${below} where number = ${project}`;
  const createdAt = `2025-${month}-02T00:00:00Z`;
  const operation = makeWireOperation(0, { createdAt, updatedAt: createdAt, status: 'running' });
  await saveOperationPage(daemon.sql, {
    project,
    operations: [operation],
    proof: { from, isFromIncluded: true, below },
  });
  await seal();
  return { project, operation };
}

test('retention drops rows and keeps seals, also of a day that waited to be sealed again', async () => {
  const { project, operation } = await makeSealedMonth('01');
  const before = await sealsOf(project);
  expect(before.map(({ operations }) => operations)).toEqual([0, 1, 0, 0]);
  await saveOperationPage(daemon.sql, {
    project,
    operations: [{ ...operation, status: 'finished', updatedAt: '2025-01-02T01:00:00Z' }],
  });
  await waitQuiet();
  await dropMonth('2025-01');
  expect((await seal()).failures).toEqual([]);
  expect(await sealsOf(project)).toEqual(before);
  expect(await checkSeals(daemon.sql, { signal: new AbortController().signal })).toEqual([]);
});

test('a month that is dropped while its seals are compared is no difference', async () => {
  const { project } = await makeSealedMonth('02');
  let checking: Promise<unknown> = Promise.resolve();
  await store.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtextextended('operations of project ' || ${project}, 2))`;
    checking = checkSeals(daemon.sql, { signal: new AbortController().signal, months: (month) => month === '2025-02' });
    await until(
      async () => (await store.sql`select from pg_locks where locktype = 'advisory' and not granted`).length === 1,
    );
    await dropMonth('2025-02');
  });
  expect(await checking).toEqual([]);
});

test.each([
  [
    'altered',
    `update keywarden.operation set status = 'failed' where id = (select min(id::text)::uuid from keywarden.operation where project_number = PROJECT)`,
  ],
  ['deleted', 'delete from keywarden.operation where project_number = PROJECT'],
  [
    'added',
    `insert into keywarden.operation select project_number, created_at + interval '1 second', gen_random_uuid(), branch_id, endpoint_id, action, status, failures_count, error, retry_at, updated_at, total_duration_ms, extra, seen_at, place from keywarden.operation where project_number = PROJECT`,
  ],
  [
    'backdated',
    `update keywarden.operation set seen_at = seen_at - interval '1 microsecond' where project_number = PROJECT`,
  ],
  [
    'moved to another project',
    `update keywarden.operation set project_number = project_number + 1000 where project_number = PROJECT`,
  ],
  [
    'given to a gap that is claimed to be none',
    `update keywarden.operation_coverage set known = '{[2026-05-01,2026-05-20)}' where project_number = PROJECT`,
  ],
])(
  'an operation that is %s in the database is found by the comparison with the seals, and nothing else is',
  async (_what, change) => {
    const project = await makeWalked(6);
    await saveOperationPage(daemon.sql, {
      project,
      operations: [makeWireOperation(noon(2) + 20)],
      proof: proofOf(2, 5),
    });
    await seal();
    const signal = new AbortController().signal;
    const faults = async (months?: (month: string) => boolean) =>
      (await checkSeals(daemon.sql, { signal, months })).filter((fault) => fault.project === project);
    expect(await faults()).toEqual([]);
    await store.sql.unsafe(change.replaceAll('PROJECT', project));
    const found = await faults();
    expect(found).toEqual([{ project, day: change.includes('coverage') ? day(5) : day(2) }]);
    expect(await faults((month) => month === '2026-06')).toEqual([]);
  },
);

test('sealing hides nothing: a day that lost operations is not sealed again, and a state that is removed makes no second chain', async () => {
  const project = await makeWalked(6);
  const operations = [makeWireOperation(noon(2) + 30), makeWireOperation(noon(2) + 31)];
  await saveOperationPage(daemon.sql, { project, operations, proof: proofOf(1, 6) });
  await seal();
  const before = await sealsOf(project);
  const faults = async () =>
    (await checkSeals(daemon.sql, { signal: new AbortController().signal })).filter((each) => each.project === project);
  const lose = 'delete from keywarden.operation where project_number = PROJECT and id::text like $1';
  await store.sql.unsafe(lose.replace('PROJECT', project), [`%${String(noon(2) + 31)}`]);
  const mark = async (changedAt: string) =>
    await store.sql.unsafe(
      `insert into keywarden.operation_sealing (project_number, sealed_to, changed, changed_at) values (${project}, '2026-05-06', '{[2026-05-02,2026-05-03)}', ${changedAt})
        on conflict (project_number) do update set changed = excluded.changed, changed_at = excluded.changed_at`,
    );
  await mark("now() - interval '1 hour'");
  expect((await seal()).failures.map((each) => each.project)).toEqual([project]);
  // The mark is recent: the comparison waits for a day.
  expect(await faults()).toEqual([]);
  for (const changedAt of ["now() - interval '2 days'", "'infinity'"]) {
    await mark(changedAt);
    expect(await faults()).toEqual([{ project, day: day(2) }]);
  }
  await store.sql`delete from keywarden.operation_sealing where project_number = ${project}`;
  expect((await seal()).failures.map((each) => each.project)).toEqual([project]);
  expect(await sealsOf(project)).toEqual(before);
  expect(await faults()).toEqual([{ project, day: day(2) }]);
  // Somebody's own seal of what is left, beside the chain.
  await store.sql`
    insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps, replaces)
    select project_number, project, day, 1, ${await rootOfDay(project, 2)}, covered, gaps, null from keywarden.operation_seal
    where project_number = ${project} and day = ${day(2)}`;
  expect(await faults()).toEqual([{ project, day: day(2) }]);
});

test('a project that is back after a day of absence has that day sealed again', async () => {
  const project = await makeWalked(20);
  const [{ id } = {}] = await store.sql`
    update keywarden.project set missing_since = '2026-05-03T10:00:00Z' where number = ${project} returning id`;
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2))], proof: proofOf(2, 4) });
  await seal();
  expect((await sealsOf(project)).at(-1)).toMatchObject({ day: day(3), gaps: '[]' });
  await store.sql`update keywarden.operation_coverage set known = '{[2026-05-02,2026-05-03T10:00:00Z)}' where project_number = ${project}`;
  const place = { controlPlane, seenAt: at(21), organizationId: 'o', unavailableIds: [], isWhole: false };
  const back = { id: String(id), name: 'p', createdAt: at(1), updatedAt: at(1), extra: null };
  await saveProjects(daemon.sql, place, [
    { ...back, orgId: undefined, ownerId: undefined, regionId: undefined, pgVersion: undefined, deletedAt: undefined },
  ]);
  await waitQuiet();
  await seal();
  const [last] = (await sealsOf(project)).filter((each) => each.day === day(3) && each.replaces !== null);
  expect(JSON.parse(last?.gaps ?? '')).toEqual([expect.objectContaining({ from: '2026-05-03T10:00:00Z', to: at(4) })]);
});
