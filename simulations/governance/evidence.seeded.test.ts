import { openConnections, syncCredentials, syncKeys, syncOperations } from '@keywarden/daemon';
import { type Manifest, readControls } from '@keywarden/report';
import { parseConfig } from '@keywarden/runtime/config';
import { sized } from '@keywarden/testkit';
import { budgetsOf, makeContext } from '@keywarden/testkit/daemon/fixture';
import { makeApp } from '@keywarden/testkit/report/app';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { makeToken } from '@keywarden/testkit/store/principal';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { unzipSync } from 'fflate';
import { expect, inject, test } from 'vitest';
import { type Company, createCompany, type TrueKey } from './company.ts';

// Evidence against the sandbox's truth: a company uses, mints and revokes keys, and members leave, while the daemon lists only now and then. At any
// time of this, evidence has no false exception and no false absence, for every control.

const day = 86_400_000;

/** The truth at a time. */
interface Moment {
  at: string;
  ms: number;
  /** Whether the daemon had listed everything just before. */
  isListed: boolean;
  keys: (TrueKey & { isMember: boolean })[];
}

const seen = { exception: 0, unknown: 0, fine: 0 };

test.each(Array.from({ length: sized(20) }, (_, index) => index + 1))(
  'company %i: evidence of any time agrees with the truth, or says that it is unknown',
  async (seed) => {
    const store = await createTestStore(inject('postgresUrl'));
    const company = await createCompany(seed);
    try {
      const { sync, listed } = await startDaemon(company, store);
      const moments: Moment[] = [];
      for (let step = 0; step < 12; step += 1) {
        await liveOn(company);
        const isListed = step === 0 || step === 11 || company.random.chance(0.6);
        if (isListed) await sync();
        moments.push(await observe(company, isListed));
      }
      const wrong: string[] = [];
      const { evidenceAt, lostOperations } = await serveReport(company, store);
      for (const [index, moment] of moments.entries()) {
        if (index < 11 && company.random.chance(0.5)) continue;
        const before = moments.slice(0, index + 1).findLast(({ isListed }) => isListed);
        // A listing is evidence for a day: an absence within it is not noticed.
        const fresh = before !== undefined && moment.ms - before.ms < day ? before : moment;
        const wereMembers = new Set(fresh.keys.filter(({ isMember }) => isMember).map(({ id }) => id));
        const keys = moment.keys.map((key) => ({ ...key, isMember: key.isMember || wereMembers.has(key.id) }));
        wrong.push(...judgeKeys(await evidenceAt(moment.at), { ...moment, keys }, listed));
      }
      wrong.push(...(await lostOperations()));
      expect(wrong).toEqual([]);
    } finally {
      await company.close();
      await store.close();
    }
  },
);

test('the companies had exceptions, keys without, and keys for which that is unknown', () => {
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10);
});

async function startDaemon(company: Company, store: Awaited<ReturnType<typeof createTestStore>>) {
  const { url, adminKey: apiKey } = company.sandbox;
  const main = { name: 'main', url, identity: url, apiKey, keyId: '1', keyFile: null, share: 1 };
  const config = parseConfig(JSON.stringify({ policy: { rules: [] } }), 'the simulation');
  const context = makeContext(await store.as('keywarden_daemon'), { ...config, channels: [], connections: [main] });
  /** The keys that any listing showed. */
  const listed = new Set<string>();
  const time = { now: company.now, sleep: company.sleep };
  const sync = async () => {
    context.limiters.clear();
    const connections = await openConnections(
      context.store.sql,
      { ...context, time, random: () => 0.5, fetch: company.fetch, budgets: budgetsOf(context.store.sql, time) },
      (_name, error) => {
        throw error;
      },
    );
    for (const connection of connections) {
      await syncOperations(context, connection);
      await syncCredentials(context, connection);
      await syncKeys(context, connection);
    }
    for (const row of await store.sql`select id from keywarden.key`) listed.add(String(row.id));
  };
  return { sync, listed };
}

/** Lets some days pass, with uses, new keys, revocations and members who leave. */
async function liveOn(company: Company): Promise<void> {
  const { random, keys, organizations } = company;
  await company.advance(random.pick([0.2, 1, 5, 20, 40]) * day);
  for (const key of keys.values()) if (random.chance(0.3)) await company.use(key);
  for (let made = random.below(3); made > 0; made -= 1) {
    const by = random.chance(0.5) ? { by: 'a member' } : {};
    await company.mint({ name: `key-${keys.size}`, organization: random.pick(organizations), ...by });
  }
  if (random.chance(0.3)) company.leaveOrReturn();
  if (random.chance(0.3)) await revokeOne(company);
  // The control plane's times are whole seconds.
  await company.advance(1000 - (company.now() % 1000));
}

async function revokeOne({ sandbox, direct, keys, random, truth }: Company): Promise<void> {
  const live = (await truth()).filter(({ id, isLive }) => isLive && keys.has(id));
  if (live.length < 3) return;
  const { id, organizationId } = random.pick(live);
  const headers = { authorization: `Bearer ${sandbox.adminKey}` };
  const path = organizationId === null ? `/api_keys/${id}` : `/organizations/${organizationId}/api_keys/${id}`;
  await direct(`${sandbox.url}${path}`, { method: 'DELETE', headers });
}

async function observe(company: Company, isListed: boolean): Promise<Moment> {
  const ms = company.now();
  const members = new Set<string>();
  const headers = { authorization: `Bearer ${company.sandbox.adminKey}` };
  for (const organization of company.organizations) {
    const path = `/organizations/${organization}/members?limit=500`;
    const answer = await company.fetch(`${company.sandbox.url}${path}`, { headers });
    const body = (await answer.json()) as { members: { member: { user_id: string } }[] };
    for (const { member } of body.members) members.add(`${organization} ${member.user_id}`);
  }
  const keys = (await company.truth()).filter(({ isLive }) => isLive);
  const isMember = ({ organizationId, creatorId }: TrueKey) => members.has(`${organizationId} ${creatorId}`);
  return {
    at: new Date(ms).toISOString(),
    ms,
    isListed,
    keys: keys.map((key) => ({ ...key, isMember: isMember(key) })),
  };
}

/** The ids of the rows of a measure, of those that exist for certain, and of keys that could not be assessed. */
type Evidence = (name: string) => { active: string[]; exceptions: Set<string>; unknown: Set<string> };

async function serveReport(company: Company, store: Awaited<ReturnType<typeof createTestStore>>) {
  const { app } = await makeApp(store, { now: company.now });
  const { secret } = await makeToken(store, 'olga', 'auditor');
  const ask = async (path: string) => {
    const answer = await app.request(path, { headers: { authorization: `Bearer ${secret}` } });
    expect([path, answer.status]).toEqual([path, 200]);
    return answer;
  };
  const linesOf = (files: Record<string, Uint8Array>, name: string | undefined) =>
    Buffer.from(files[name ?? ''] ?? [])
      .toString()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return {
    evidenceAt: async (at: string): Promise<Evidence> => {
      const answer = await ask(`/v1/evidence?from=2026-01-01&to=${at}`);
      const files = unzipSync(new Uint8Array(await answer.arrayBuffer()));
      const manifest = JSON.parse(Buffer.from(files['manifest.json'] ?? []).toString()) as Manifest;
      expect(manifest.controls.map(({ id }) => id)).toEqual(readControls().map(({ id }) => id));
      return (name) => {
        const found = manifest.files.filter(({ measure }) => measure.measure === name);
        // Controls that share a measure agree about it.
        const rows = found.map(({ file }) =>
          linesOf(files, file)
            .map(({ id }) => String(id))
            .toSorted(),
        );
        for (const other of rows) expect(other).toEqual(rows[0]);
        const [first] = found;
        const active = linesOf(files, first?.file).filter(({ state }) => state === 'active');
        const unknown = linesOf(files, first?.not_assessable?.file).map(({ id }) => String(id));
        return {
          active: active.map(({ id }) => String(id)).toSorted(),
          exceptions: new Set(rows[0]),
          unknown: new Set(unknown),
        };
      };
    },
    /** Returns the operations that are neither archived nor in a time that the archive says it may lack. */
    lostOperations: async () => {
      const lost: string[] = [];
      const controls = createControls(company.sandbox.controlUrl, company.direct);
      const { items } = (await (await ask('/v1/coverage/operations')).json()) as {
        items: { project_id: string; unknown: { from: string; to: string }[] }[];
      };
      for (const { id } of await controls.projects()) {
        const { created_at: created } = await controls.operations(id, { withTimes: true });
        const [project] = await store.sql`select number from keywarden.project where id = ${id}`;
        const rows =
          await store.sql`select id from keywarden.operation where project_number = ${String(project?.number)}`;
        const archived = new Set(rows.map((row) => String(row.id)));
        const holes = items.find(({ project_id: of }) => of === id)?.unknown ?? [];
        for (const [operation, at] of Object.entries(created))
          if (!archived.has(operation) && !holes.some(({ from, to }) => from <= at && at <= to))
            lost.push(`operation ${operation} of ${id} at ${at} is lost`);
      }
      return lost;
    },
  };
}

const administratorsKey = '1';

/** The limits of the measures in apps/report/controls. */
const limits = { idle_keys: 90, old_keys: 365 } as const;

/** Returns what evidence says wrongly about keys. What it says is unknown is wrong only where a listing of that very time shows it. */
function judgeKeys(evidence: Evidence, { at, ms, isListed, keys }: Moment, listed: Set<string>): string[] {
  const truths = {
    idle_keys: ({ lastUsedMs, createdMs }: TrueKey) =>
      ms - (lastUsedMs ?? createdMs) > limits.idle_keys * day && ms - createdMs > limits.idle_keys * day,
    old_keys: ({ createdMs }: TrueKey) => ms - createdMs > limits.old_keys * day,
    orphaned_keys: ({ organizationId, isMember }: Moment['keys'][number]) => organizationId !== null && !isMember,
    // No review was signed.
    unreviewed_keys: () => true,
  };
  const wrong: string[] = [];
  const live = keys.filter(({ id }) => listed.has(id));
  const inventory = evidence('inventory').active;
  const expected = live.map(({ id }) => id).toSorted();
  if (isListed && inventory.join() !== expected.join())
    wrong.push(`${at}: the inventory has ${inventory.join()} instead of ${expected.join()}`);
  for (const [name, holds] of Object.entries(truths)) {
    const { exceptions, unknown } = evidence(name);
    for (const key of live) {
      // This test itself uses the administrator's key all the time.
      if (key.id === administratorsKey) continue;
      const is = exceptions.has(key.id) ? 'exception' : unknown.has(key.id) ? 'unknown' : 'fine';
      seen[is] += 1;
      const truth = holds(key) ? 'exception' : 'fine';
      // Who has left shows only the second listing of members.
      const isKnown = isListed && name !== 'orphaned_keys';
      if (is !== truth && (is !== 'unknown' || isKnown))
        wrong.push(`${at}: ${name} of key ${key.id} is ${is}, not ${truth}`);
    }
    for (const id of exceptions)
      if (!keys.some((key) => key.id === id)) wrong.push(`${at}: key ${id} of ${name} did not exist`);
  }
  return wrong;
}
