import { policySchema } from '@keywarden/core/policy';
import type { Logger } from '@keywarden/runtime';
import { UserError } from '@keywarden/runtime';
import { connectionOf, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { channel, receiver, useReceiver } from '@keywarden/testkit/daemon/receiver-fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { armMachine } from '../enforce/high-water-mark.ts';
import { growLedger } from '../ledger/ledger.ts';
import { syncKeys } from '../sync/keys.ts';
import { jobs, tryEachConnection } from './jobs.ts';

useReceiver();

test('R7: a connection that fails is logged with its actual error, and the next one is processed', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const fixture = await makeFixture(store);
  const lines: unknown[] = [];
  // Only the one method that is called. Another test covers how the logger formats an error.
  const log = { error: (fields: unknown) => void lines.push(fields) } as unknown as Logger;
  const failing = { ...connectionOf(fixture), name: 'failing' };
  const worked: string[] = [];
  const failure = new UserError('incomplete', 'Fix this.');
  const failed = await tryEachConnection(
    { ...fixture.context, log },
    [failing, connectionOf(fixture)],
    async (_context, { name }) => {
      if (name === 'failing') throw failure;
      worked.push(name);
    },
  );
  expect(failed).toEqual([{ name: 'failing', error: failure }]);
  expect(worked).toEqual(['main']);
  expect(lines).toEqual([{ connection: 'failing', err: failure }]);
  await fixture.close();
  await store.close();
});

test.each(['api_keys', 'members'])(
  'R7: enforcement of one organization goes on while the %s of another cannot be listed',
  async (list) => {
    const store = await createTestStore(inject('postgresUrl'));
    let broken = 'none';
    const refusing: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      const isBroken = new URL(input instanceof Request ? input.url : input).pathname.endsWith(
        `/organizations/${broken}/${list}`,
      );
      return isBroken ? new Response('{"message":"odd"}', { status: 400, headers: answer.headers }) : answer;
    };
    const policy = policySchema.parse({
      enforcement: { organizations: { '*': { mode: 'enforce' } } },
      rules: [{ name: 'never-used', never_used_for: '30d', action: 'revoke', mode: 'enforce' }],
    });
    const fixture = await makeFixture(store, { client: { fetch: refusing }, policy });
    await fixture.controls.generate({ organizations: 2, projects: 1, keys: 0, operations: 0 });
    const { organizations } = await fixture.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
    for (const { id } of organizations)
      for (const name of ['unused', 'used']) {
        const { key } = await fixture.ask<{ key: string }>('POST', `/organizations/${id}/api_keys`, { key_name: name });
        if (name === 'used')
          await fetch(`${fixture.sandbox.url}/auth`, { headers: { authorization: `Bearer ${key}` } });
      }
    await fixture.controls.advance(40 * 86_400);
    await armMachine(fixture.context, 'ada');
    for (let passes = 0; passes < 3; passes += 1) {
      await fixture.controls.advance(3700);
      await fixture.reconnect();
      await syncKeys(fixture.context, connectionOf(fixture));
    }
    broken = organizations[0]?.id ?? '';
    const context = { ...fixture.context, fetch: refusing };
    await jobs.enforce.run(context, []);
    const revoked = await store.sql`
      select k.scope from keywarden.revocation_outcome o join keywarden.revocation_intent i on i.number = o.intent_number
        join keywarden.credential k on k.number = i.key_number where o.outcome = 'revoked'`;
    const scopes = organizations.map(({ id }) => `organization:${id}`);
    // Without current members, the keys of an organization can still be judged by their own use.
    const judged = list === 'members' ? scopes : scopes.slice(1);
    expect(revoked.map(({ scope }) => String(scope)).toSorted()).toEqual(judged.toSorted());
    await fixture.close();
    await store.close();
  },
);

test("nothing is deleted while the database's clock is ahead of the control plane's", async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const fixture = await makeFixture(store);
  let daysBehind = 300;
  // A control plane whose time is not moved on purpose.
  const answering: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const date = new Date(Date.now() - daysBehind * 86_400_000).toUTCString();
    return new Response(answer.body, { status: answer.status, headers: { date } });
  };
  const refusedFetch: typeof fetch = async () => await Promise.reject(new Error('refused'));
  const context = { ...fixture.context, fetch: answering };
  const runs = async () => (await store.sql`select from keywarden.job_run`).length;
  await store.sql`insert into keywarden.job_run (job_id, kind, account, attempt, replica, started_at)
    values (gen_random_uuid(), 'keys', 'main', 1, gen_random_uuid(), now() - interval '100 days')`;
  await expect(jobs.retention.run(context, [])).rejects.toThrow(
    /database's clock is 2592\d{4} s ahead of the control plane's/,
  );
  // Without a control plane that answers, this machine's clock counts.
  const alone = { ...context, fetch: refusedFetch, now: () => Date.now() - 2 * 86_400_000 };
  await expect(jobs.retention.run(alone, [])).rejects.toThrow(/clock is 1728\d\d s ahead of this machine's/);
  expect(await runs()).toBe(1);
  daysBehind = 0;
  await jobs.retention.run(context, []);
  expect(await runs()).toBe(0);
  await fixture.close();
  await store.close();
});

/** Returns a context on a new store, with an administrator's connection and a channel that gets checkpoints. */
async function prepareDaily() {
  const store = await createTestStore(inject('postgresUrl'));
  const fixture = await makeFixture(store, { channels: [channel({ checkpoints: true })] });
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 1, operations: 0 });
  return { store, fixture, close: async () => [await fixture.close(), await store.close()] };
}

test('the daily job compares the store with its ledger and its signatures, sends the checkpoint, and deletes what is old; a step that fails stops no other', async () => {
  const { store, fixture, close } = await prepareDaily();
  await store.sql`insert into keywarden.pause (paused_by) values ('ada')`;
  await growLedger(fixture.context, { createsKey: true });
  store.isTampered();
  await store.sql`update keywarden.pause set paused_at = paused_at - interval '1 day'`;
  await store.sql`insert into keywarden.review (title, as_of, filter, holes, keep_for, opened_by)
    values ('x', now(), '{}', '[]', interval '1 day', 'ada')`;
  await store.sql`insert into keywarden.review_signature (review_number, signed_by, sha256, content_sha256) values (1, 'ada', '', 'x')`;
  const addOldRun = async () =>
    await store.sql`
    insert into keywarden.job_run (job_id, kind, account, attempt, replica, started_at)
    values (gen_random_uuid(), 'keys', 'main', 1, gen_random_uuid(), now() - interval '100 days')`;
  const runs = async () => (await store.sql`select from keywarden.job_run`).length;
  await addOldRun();
  await jobs.retention.run(fixture.context, []);
  const kinds = await store.sql`select kind from keywarden.incident order by kind`;
  expect(kinds.map(({ kind }) => kind as string)).toEqual(['ledger_inconsistent', 'signature_broken']);
  expect(receiver.received.map(({ text }) => text)).toEqual([expect.stringContaining('"ledger.checkpoint"')]);
  expect(await runs()).toBe(0);
  await store.sql`alter function keywarden.report_broken_reviews rename to none`;
  await addOldRun();
  await expect(jobs.retention.run(fixture.context, [])).rejects.toMatchObject({ code: '42883' });
  expect(receiver.received).toHaveLength(2);
  expect(await runs()).toBe(0);
  await close();
});

test('the job of keys counts the keys of the day, also of the scopes that could be listed beside one that could not', async () => {
  const { store, fixture, close } = await prepareDaily();
  const path = '/organizations/{org_id}/api_keys';
  await fixture.controls.setFaults([{ method: 'GET', path, times: 100, kind: 'status', status: 418 }]);
  await expect(jobs.keys.run(fixture.context, ['main'])).rejects.toMatchObject({ code: 'incomplete' });
  const counts = await store.sql`select sum(live)::int as live from keywarden.key_count`;
  expect(counts[0]?.live).toBeGreaterThan(0);
  await close();
});

test('a sweep reads the operations only if no pass over them has ended within 20 hours', async () => {
  const { store, fixture, close } = await prepareDaily();
  const passes = async () => {
    await jobs.sweep.run(fixture.context, ['main']);
    return (await store.sql`select from keywarden.sync_run where kind = 'operations'`).length;
  };
  expect([await passes(), await passes()]).toEqual([1, 1]);
  await store.sql`update keywarden.sync_run set finished_at = finished_at - interval '21 hours'`;
  expect(await passes()).toBe(2);
  await close();
});
