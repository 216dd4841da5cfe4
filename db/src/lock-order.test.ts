import { makePrincipal } from '@keywarden/testkit/store/principal';
import { makeControlPlane, makeWireKey, makeWireProject } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  applyReviewDefaults,
  closeIncidents,
  countKeysOfDay,
  endCredentialsOfGoneProjects,
  noteLedgerKeys,
  openIncident,
  openRotation,
  refuseRotationRequest,
  saveKeyListing,
  saveProjects,
  startRun,
  writeMessage,
} from './daemon.ts';
import { jobSchema } from './jobs/queues.ts';
import { replaceFutureTimes } from './jobs/state.ts';
import { openCampaign } from './report.ts';
import { builderOf } from './sql.ts';
import type { Store } from './store.ts';

let store: TestStore;
let daemon: Store;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
});
afterAll(async () => await store.close());

const list = async (organizationId: string) => {
  const at = '2026-06-01T00:00:00Z';
  const place = {
    controlPlane,
    scope: `organization:${organizationId}`,
    organizationId,
    connection: 'main',
    run: null,
  };
  await saveKeyListing(daemon.sql, { ...place, listedAt: at, begunAt: at, keys: [makeWireKey('1')] });
};

test('a reminder of several reviews is written while their default decisions are recorded', async () => {
  for (const organization of ['acme', 'beta']) await list(organization);
  const principal = await makePrincipal(store, 'ada');
  const report = await store.as('keywarden_report');
  const settings = {
    title: 'x',
    split_by: 'organization' as const,
    due_at: new Date(Date.now() + 60_000).toISOString(),
    remind_days: [7],
    default_decision: 'keep' as const,
    keep_needs_reason: 'always' as const,
    escalate_to: null,
    escalate_after_days: 1,
  };
  const chosen = { filter: {}, request: {}, asOf: '2026-06-01T00:00:00Z', holes: [], keepForDays: 1, principal };
  await openCampaign(report, { ...chosen, settings });
  await store.sql`update keywarden.review_campaign set due_at = now(), opened_at = now() - interval '1 day'`;
  const [first = '', last = ''] = (await store.sql`select number from keywarden.review order by number`).map((row) =>
    String(row.number),
  );
  const reminder = { reviews: [last, first], step: '7d' };
  const work: Promise<unknown>[] = [];
  await store.sql.begin(async (tx) => {
    await tx`select from keywarden.review where number = ${last} for key share`;
    work.push(applyReviewDefaults(daemon.sql));
    await store.untilBlocked(...work);
    work.push(
      writeMessage(daemon.sql, { controlPlane, channel: 'slack', owner: 'ada', body: {}, notices: [], reminder }),
    );
    await store.untilBlocked(...work);
  });
  await expect(Promise.all(work)).resolves.toHaveLength(2);
});

test('credentials of a project that is gone end while another connection saves their list', async () => {
  const scope = { scope: 'branch_credential:acme/gone', organizationId: 'acme', connection: 'main', run: null };
  const other = {
    kind: 'branch_credential',
    branchId: 'br-1',
    holder: null,
    expiresAt: null,
    revokedAt: null,
  } as const;
  const saveList = async (listedAt: string, ids: string[]) => {
    const keys = ids.map((id) => ({ ...makeWireKey(id), ...other, projectId: 'gone', lastUsedAt: listedAt }));
    await saveKeyListing(daemon.sql, { controlPlane, ...scope, listedAt, begunAt: listedAt, keys });
  };
  await saveList('2026-06-01T00:00:00Z', ['1', '2', '3']);
  const place = { controlPlane, organizationId: 'acme', unavailableIds: [] };
  for (const [day, id] of ['gone', 'kept', 'kept'].entries())
    await saveProjects(daemon.sql, { ...place, seenAt: `2026-06-0${day + 1}T00:00:00Z` }, [makeWireProject(id)]);
  const run = await startRun(daemon.sql, { kind: 'credentials', connection: 'main' });
  const work: Promise<unknown>[] = [];
  await store.sql.begin(async (tx) => {
    await tx`select from keywarden.credential where id = '2' and kind = 'branch_credential' for update`;
    work.push(saveList('2026-06-03T00:00:00Z', ['3', '2', '1']));
    await store.untilBlocked(...work);
    const seenAt = '2026-06-03T00:00:00Z';
    work.push(endCredentialsOfGoneProjects(daemon.sql, { controlPlane, seenAt, run, lease: undefined }));
    await store.untilBlocked(...work);
  });
  await expect(Promise.all(work)).resolves.toHaveLength(2);
});

test('a key of the ledger keeps its endorsement, although another machine has not seen it yet', async () => {
  const publicKey = 'a key';
  const work: Promise<void>[] = [];
  await daemon.sql.begin(async (tx) => {
    await tx`insert into keywarden.ledger_key (public_key, endorsement) values (${publicKey}, 'a note')`;
    work.push(noteLedgerKeys(daemon.db, [{ publicKey, endorsement: null }]));
    await store.untilBlocked(...work);
  });
  await Promise.all(work);
  const kept = await store.sql`select endorsement from keywarden.ledger_key where public_key = ${publicKey}`;
  expect(kept).toEqual([{ endorsement: 'a note' }]);
});

test('a connection is saved while another transaction stores rows of its control plane', async () => {
  const impatient = daemon.connect({ max: 1, settings: { lock_timeout: '1s' } });
  await daemon.sql.begin(async (tx) => {
    await tx`insert into keywarden.rotation_slot (control_plane_number, rule, slot) values (${controlPlane}, 'r', now())`;
    expect(await makeControlPlane(impatient)).toBe(controlPlane);
  });
});

test('the keys of a day are counted at once, of any organizations', async () => {
  const add = async (first: number, last: number) =>
    await store.sql`
      insert into keywarden.credential (control_plane_number, scope, id, kind, organization_id, name, creator_id, created_at, first_seen_at, present_since)
      select ${controlPlane}::bigint, 'organization:o' || n, n, 'organization', 'o' || n, '', 'ada', now(), now(), now() from generate_series(${first}::int, ${last}::int) n`;
  await add(10, 39);
  // Hash tables have an order of their own, and another one with so many more rows.
  await store.sql.unsafe(
    "do $$ begin execute format('alter database %I set enable_sort = off', current_database()); end $$",
  );
  const { sql, db } = await store.as('keywarden_daemon');
  let second = '';
  const undone = sql.begin(async (tx) => {
    await countKeysOfDay(builderOf(tx));
    const rows = await tx`select organization_id from keywarden.key_count order by ctid`;
    second = String(rows[1]?.organization_id);
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  const work: Promise<void>[] = [];
  await store.sql.begin(async (tx) => {
    await tx`
      insert into keywarden.key_count (day, control_plane_number, organization_id, live, idle, unknown)
      select (at at time zone 'UTC')::date, ${controlPlane}, ${second}, 1, 0, 0 from keywarden.control_plane_now`;
    work.push(countKeysOfDay(db));
    await store.untilBlocked(...work);
    await add(1000, 2999);
    work.push(countKeysOfDay(db));
    await store.untilBlocked(...work);
  });
  await expect(Promise.all(work)).resolves.toHaveLength(2);
});

test('incidents close while others of them close that have changed meanwhile', async () => {
  const open = async (scope: string) => await openIncident(daemon.db, { kind: 'breaker', scope, detail: {} });
  for (const scope of ['a', 'b', 'c']) await open(scope);
  const close = async (...scopes: string[]) => await closeIncidents(daemon.db, { kind: 'breaker', scopes });
  const work: Promise<unknown>[] = [];
  const [first, second] = [await store.sql.reserve(), await store.sql.reserve()];
  await first.unsafe(`begin; select from keywarden.incident where scope = 'a' for update`).simple();
  work.push(close('a', 'b', 'c'));
  await store.untilBlocked(...work);
  // The row of b is after that of c from now on.
  await second.unsafe(`update keywarden.incident set detail = '{"changed": true}' where scope = 'b'`);
  await second.unsafe(`begin; select from keywarden.incident where scope = 'b' for update`).simple();
  await first.unsafe('commit');
  await store.untilBlocked(...work);
  work.push(close('b', 'c'));
  await store.untilBlocked(...work);
  await second.unsafe('commit');
  for (const session of [first, second]) session.release();
  await expect(Promise.all(work)).resolves.toHaveLength(2);
});

test('times of the queues that are ahead are replaced while others of them change', async () => {
  const queue = daemon.sql(`${jobSchema}.queue`);
  const names = (await store.sql`select name from ${queue} order by name limit 3`).map(({ name }) => String(name));
  const [a = '', b = '', c = ''] = names;
  const set = (name: string, time: string) =>
    `update ${jobSchema}.queue set monitor_on = ${time}, updated_on = clock_timestamp() where name = '${name}'`;
  for (const name of [a, b, c]) await store.sql.unsafe(set(name, `now() + interval '1 day'`));
  const work: Promise<unknown>[] = [];
  const [first, second] = [await store.sql.reserve(), await store.sql.reserve()];
  await first.unsafe(`begin; ${set(a, 'now()')}`).simple();
  work.push(replaceFutureTimes(daemon.sql));
  await store.untilBlocked(...work);
  // The row of b is after that of c from now on.
  await second.unsafe(set(b, `now() + interval '2 days'`));
  await second.unsafe(`begin; select from ${jobSchema}.queue where name = '${b}' for update`).simple();
  await first.unsafe('commit');
  await store.untilBlocked(...work);
  work.push(replaceFutureTimes(daemon.sql));
  await store.untilBlocked(...work);
  await second.unsafe('commit');
  for (const session of [first, second]) session.release();
  await expect(Promise.all(work)).resolves.toHaveLength(2);
});

test('a request for a rotation is answered once, by the rotation that opens or by the refusal', async () => {
  await list('gamma');
  const [key] = await store.sql`select number from keywarden.key where scope = 'organization:gamma'`;
  const [row] = await store.sql`
    insert into keywarden.rotation_request (key_number, requested_by, reason) values (${String(key?.number)}, 'ada', 'x') returning number`;
  const request = String(row?.number);
  const settings = {
    rule: null,
    sink: 's',
    quietForMs: 1,
    adoptWithinMs: 1,
    policySha256: 'x',
    at: '2026-06-01T00:00:00Z',
  };
  const by = { via: 'report' as const, requestedBy: 'ada', request };
  const work: Promise<unknown>[] = [];
  await store.sql.begin(async (tx) => {
    // The rotation is open, and its request has no answer yet.
    await tx`lock table keywarden.rotation_event in share mode`;
    work.push(openRotation(daemon.sql, { id: 'abcdefgh', key: String(key?.number), ...settings, ...by }));
    await store.untilBlocked(...work);
    work.push(refuseRotationRequest(daemon.sql, request, 'x'));
    await store.untilBlocked(...work);
  });
  await Promise.all(work);
  const answers =
    await store.sql`select why_not from keywarden.rotation_request_answer where request_number = ${request}`;
  expect(answers).toEqual([{ why_not: null }]);
});
