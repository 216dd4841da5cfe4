import { makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createSealing, day, noon, proofOf, type Sealing } from '@keywarden/testkit/store/sealing';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeOperationPartitions, saveOperationPage } from '../daemon.ts';
import type { Store } from '../store.ts';
import { checkDays, checkSeals } from './check.ts';

let sealing: Sealing;
let store: TestStore;
let daemon: Store;
beforeAll(async () => {
  sealing = await createSealing(inject('postgresUrl'));
  ({ store, daemon } = sealing);
});
afterAll(async () => await store.close());

test('retention drops rows and keeps seals, also of a day that waited to be sealed again', async () => {
  const { project, operation } = await sealing.makeSealedMonth('01');
  const before = await sealing.sealsOf(project);
  expect(before.map(({ operations }) => operations)).toEqual([0, 1, 0, 0]);
  await saveOperationPage(daemon.sql, {
    project,
    operations: [{ ...operation, status: 'finished', updatedAt: '2025-01-02T01:00:00Z' }],
  });
  await sealing.waitQuiet();
  await sealing.dropMonth('2025-01');
  expect((await sealing.seal()).failures).toEqual([]);
  expect(await sealing.sealsOf(project)).toEqual(before);
  expect(await checkSeals(daemon.sql, { signal: new AbortController().signal })).toEqual([]);
});

test('a month that is dropped while its seals are compared is no difference', async () => {
  const { project } = await sealing.makeSealedMonth('02');
  let checking: Promise<unknown> = Promise.resolve();
  await store.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtextextended('operations of project ' || ${project}, 2))`;
    checking = checkSeals(daemon.sql, { signal: new AbortController().signal, months: (month) => month === '2025-02' });
    await store.untilBlocked(checking);
    await sealing.dropMonth('2025-02');
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
    const project = await sealing.makeWalked(6);
    await saveOperationPage(daemon.sql, {
      project,
      operations: [makeWireOperation(noon(2) + 20)],
      proof: proofOf(2, 5),
    });
    await sealing.seal();
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
  const project = await sealing.makeWalked(6);
  const operations = [makeWireOperation(noon(2) + 30), makeWireOperation(noon(2) + 31)];
  await saveOperationPage(daemon.sql, { project, operations, proof: proofOf(1, 6) });
  await sealing.seal();
  const before = await sealing.sealsOf(project);
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
  expect((await sealing.seal()).failures.map((each) => each.project)).toEqual([project]);
  for (const changedAt of ['now()', "now() - interval '1 hour'", "now() - interval '2 days'", "'infinity'"]) {
    await mark(changedAt);
    expect(await faults()).toEqual([{ project, day: day(2) }]);
  }
  await store.sql`delete from keywarden.operation_sealing where project_number = ${project}`;
  expect((await sealing.seal()).failures.map((each) => each.project)).toEqual([project]);
  expect(await sealing.sealsOf(project)).toEqual(before);
  expect(await faults()).toEqual([{ project, day: day(2) }]);
  // Somebody's own seal of what is left, beside the chain.
  await store.sql`
    insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps, replaces)
    select project_number, project, day, 1, ${await sealing.rootOfDay(project, 2)}, covered, gaps, null from keywarden.operation_seal
    where project_number = ${project} and day = ${day(2)}`;
  expect(await faults()).toEqual([{ project, day: day(2) }]);
});

test('a day that an owner changes and marks to wait is sealed again by the comparison, so that its change is in the ledger', async () => {
  const project = await sealing.makeWalked(6);
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2) + 50)], proof: proofOf(1, 6) });
  await sealing.seal();
  await store.sql.unsafe(`update keywarden.operation set status = 'failed' where project_number = ${project}`);
  await store.sql.unsafe(
    `update keywarden.operation_sealing set changed = '{[2026-05-02,2026-05-03)}', changed_at = now() where project_number = ${project}`,
  );
  expect(await sealing.seal()).toMatchObject({ days: 0 });
  const before = await sealing.sealsOf(project);
  await checkSeals(daemon.sql, { signal: new AbortController().signal });
  const [again] = (await sealing.sealsOf(project)).slice(before.length);
  expect(again).toMatchObject({ day: day(2), replaces: before[1]?.number });
});

test('a project that an owner takes out of sealing is found by its days without a seal', async () => {
  const [project, unsealed] = [await sealing.makeWalked(4), await sealing.makeWalked(12)];
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2) + 60)], proof: proofOf(1, 4) });
  await sealing.seal();
  const hide = (number: string) =>
    `insert into keywarden.operation_sealing (project_number, sealed_to) values (${number}, '9999-01-01') on conflict (project_number) do update set sealed_to = excluded.sealed_to`;
  await store.sql.unsafe(hide(project));
  await store.sql`update keywarden.project set last_seen_at = '2026-05-12T00:00:00Z' where number = ${project}`;
  // A project without any seal, too.
  await saveOperationPage(daemon.sql, {
    project: unsealed,
    operations: [makeWireOperation(noon(3) + 60)],
    proof: proofOf(3, 6),
  });
  await store.sql.unsafe(hide(unsealed));
  await sealing.seal();
  const found = await checkSeals(daemon.sql, { signal: new AbortController().signal, months: () => false });
  const daysOf = (number: string) => found.filter((each) => each.project === number).map((each) => each.day);
  expect(daysOf(project)).toEqual([4, 5, 6, 7, 8, 9, 10, 11].map(day));
  expect(daysOf(unsealed)).toEqual([day(3)]);
});

test('rows that come back into a dropped month are sealed again and compared; a drop that did not happen is found', async () => {
  const { project, operation } = await sealing.makeSealedMonth('03');
  const signal = new AbortController().signal;
  const faults = async () =>
    (await checkSeals(daemon.sql, { signal, months: (month) => month === '2025-03' }))
      .filter((each) => each.project === project)
      .map((each) => each.day);
  await sealing.dropMonth('2025-03');
  expect(await faults()).toEqual([]);
  await makeOperationPartitions(daemon.sql, ['2025-03']);
  const other = { ...operation, id: '00000000-0000-4000-8000-0000000f0003', createdAt: '2025-03-03T00:00:00Z' };
  await saveOperationPage(daemon.sql, { project, operations: [other] });
  await sealing.waitQuiet();
  expect((await sealing.seal()).failures).toEqual([]);
  expect((await sealing.sealsOf(project)).findLast((seal) => seal.day === '2025-03-03')).toMatchObject({
    operations: 1,
  });
  expect(await faults()).toEqual([]);
  const change = async (statement: string, found: string[]) => {
    const undo = new Error('undo');
    const work = store.sql.begin(async (tx) => {
      await tx.unsafe(statement.replaceAll('PROJECT', project));
      expect(await checkDays(tx, { project, range: { from: '2025-03-01', to: '2025-04-01' } })).toEqual(
        found.map((day) => ({ project, day })),
      );
      throw undo;
    });
    await expect(work).rejects.toBe(undo);
  };
  const ofProject = `where project_number = PROJECT and created_at < '2025-04-01'`;
  await change(`update keywarden.operation set status = 'failed' ${ofProject}`, ['2025-03-03']);
  await change(`delete from keywarden.operation ${ofProject}`, ['2025-03-03']);
  // A drop between two seals excuses fewer operations, not a seal that does not follow the one before.
  const unlink = `alter table keywarden.operation_seal disable trigger user;
    update keywarden.operation_seal set replaces = null where project_number = PROJECT and day = '2025-03-03' and replaces is not null`;
  await change(unlink, ['2025-03-03']);
  // An owner says that the month was dropped again, and changes its rows.
  const drop = `update keywarden.operation_drop set dropped_at = now() + interval '2 hours', dropped_by = 'mallory' where month = '2025-03-01'`;
  await change(drop, ['2025-03-03']);
  await change(
    `${drop}; update keywarden.operation set status = 'failed', seen_at = now() + interval '3 hours' ${ofProject}`,
    ['2025-03-03'],
  );
});

test('a drop counts after the seals before it, also if its transaction is older or a clock was ahead', async () => {
  const { project, operation } = await sealing.makeSealedMonth('07');
  const drop = await sealing.announceDrop('2025-07');
  await daemon.sql.begin(async (tx) => {
    // The drop's transaction is older than the seal.
    await tx`select now()`;
    await saveOperationPage(daemon.sql, { project, operations: [{ ...operation, status: 'failed' }] });
    await sealing.waitQuiet();
    expect((await sealing.seal()).days).toBeGreaterThan(0);
    await drop(tx);
  });
  const faults = async () =>
    await store.sql.begin(
      async (tx) => await checkDays(tx, { project, range: { from: '2025-07-01', to: '2025-08-01' } }),
    );
  expect(await faults()).toEqual([]);
  // The clock that the seals have was ahead.
  await store.sql
    .unsafe(`alter table keywarden.operation_seal disable trigger user;
    update keywarden.operation_seal set sealed_at = now() + interval '1 day' where project_number = ${project}`)
    .simple();
  expect(await faults()).toEqual([]);
  await store.sql`alter table keywarden.operation_seal enable trigger user`;
});

test('an operation before the first seal of its project is a fault if no page brought it, and is sealed if one did', async () => {
  const project = await sealing.makeWalked(6);
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(3) + 80)], proof: proofOf(3, 6) });
  await sealing.seal();
  const faults = async () =>
    (await checkSeals(daemon.sql, { signal: new AbortController().signal, months: () => false }))
      .filter((each) => each.project === project)
      .map((each) => each.day);
  expect((await sealing.sealsOf(project))[0]?.day).toBe(day(3));
  await saveOperationPage(daemon.sql, { project, operations: [makeWireOperation(noon(2) + 80)] });
  expect(await faults()).toEqual([]);
  expect((await sealing.sealsOf(project)).map((seal) => seal.day)).toContain(day(2));
  await store.sql`
    insert into keywarden.operation (project_number, created_at, id, action, status, failures_count, updated_at, seen_at, place)
    select project_number, created_at - interval '1 day', gen_random_uuid(), action, status, failures_count, updated_at, seen_at, place
    from keywarden.operation where project_number = ${project} order by created_at limit 1`;
  expect(await faults()).toEqual([day(1)]);
});

test('a project that lost operations is a fault, also when later days wait to be sealed', async () => {
  const project = await sealing.makeWalked(6);
  const operations = [makeWireOperation(noon(2) + 70), makeWireOperation(noon(2) + 71)];
  await saveOperationPage(daemon.sql, { project, operations, proof: proofOf(1, 6) });
  await sealing.seal();
  await store.sql`delete from keywarden.operation where project_number = ${project} and id::text like ${`%${noon(2) + 71}`}`;
  await store.sql`
    update keywarden.operation_sealing set changed = '{[2026-05-02,2026-05-03)}', changed_at = now() - interval '1 hour' where project_number = ${project}`;
  await store.sql`update keywarden.project set last_seen_at = '2026-05-12T00:00:00Z' where number = ${project}`;
  expect((await sealing.seal()).failures).toHaveLength(1);
  const found = await checkSeals(daemon.sql, { signal: new AbortController().signal, months: () => false });
  expect(found.filter((each) => each.project === project).map((each) => each.day)).toEqual(
    [2, 6, 7, 8, 9, 10, 11].map(day),
  );
});

test('months of one project that are compared together have the faults and the drops of each', async () => {
  const months = ['2024-01', '2024-02', '2024-03', '2024-04', '2024-06'];
  await makeOperationPartitions(daemon.sql, months);
  const project = await makeProject(daemon.sql, sealing.controlPlane);
  const [from, below] = ['2024-01-01T00:00:00Z', '2024-07-01T00:00:00Z'];
  await store.sql`
    update keywarden.project set created_at = ${from}, walked_at = ${below}, last_seen_at = ${below} where number = ${project}`;
  const operations = months.map((month, index) => makeWireOperation(index, { createdAt: `${month}-03T00:00:00Z` }));
  await saveOperationPage(daemon.sql, { project, operations, proof: { from, isFromIncluded: true, below } });
  await sealing.seal();
  await sealing.dropMonth('2024-02');
  const faults = async (chosen = months) =>
    (await checkSeals(daemon.sql, { signal: new AbortController().signal, months: (month) => chosen.includes(month) }))
      .filter((each) => each.project === project)
      .map((each) => each.day);
  expect(await faults()).toEqual([]);
  await store.sql.unsafe(`update keywarden.operation set status = 'failed' where project_number = ${project}`);
  await store.sql.unsafe(
    `delete from keywarden.operation where project_number = ${project} and created_at < '2024-02-01'`,
  );
  expect(await faults()).toEqual(['2024-01-03', '2024-03-03', '2024-04-03', '2024-06-03']);
  expect(await faults(['2024-02', '2024-04'])).toEqual(['2024-04-03']);
  // A row that no page brought back.
  await makeOperationPartitions(daemon.sql, ['2024-02']);
  await store.sql`
    insert into keywarden.operation (project_number, created_at, id, action, status, failures_count, updated_at)
    select ${project}, '2024-02-04', gen_random_uuid(), 'start_compute', 'finished', 0, '2024-02-04'`;
  expect(await faults(['2024-02', '2024-03'])).toEqual(['2024-02-04', '2024-03-03']);
});
