import { policySchema } from '@keywarden/core/policy';
import type { Logger } from '@keywarden/runtime';
import { UserError } from '@keywarden/runtime';
import { connectionOf, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { armMachine } from '../enforce/high-water-mark.ts';
import { syncKeys } from '../sync/keys.ts';
import { jobs, tryEachConnection } from './jobs.ts';

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
