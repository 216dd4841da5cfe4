import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '@keywarden/daemon';
import { armMachine } from '@keywarden/daemon';
import { grantExemption, listIncidents } from '@keywarden/db/daemon';
import { readEnvironment } from '@keywarden/runtime';
import { parseConfig } from '@keywarden/runtime/config';
import { createHostileControlPlane, type Mask } from '@keywarden/testkit';
import { makeContext } from '@keywarden/testkit/daemon/fixture';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import { becomeWhole, plenty } from './become-whole.ts';
import { type Company, createCompany } from './company.ts';
import { createJudge, limits } from './judge.ts';
import { assertUnharmed, consume, day, type GovernEnd, hour, pass, type Scenario } from './pass.ts';

export interface GovernSimulation {
  seed: number;
  /** A store of its own, because quotas, incidents and pauses belong to a store. */
  store: TestStore;
  /** Only these distortions; all by default. */
  only?: readonly string[];
  /** A mask between the daemon and everything else: a counter-test hides what one guard checks. */
  mask?: (company: Company) => Mask;
  /** Runs between passes: a counter-test deletes from the store what one guard checks. */
  betweenPasses?: (store: TestStore) => Promise<void>;
  /** Changes the policy: a counter-test removes a limit. */
  policy?: (policy: Record<string, unknown>) => Record<string, unknown>;
}

/** Simulates a company under a hostile control plane and the daemon that governs its keys. Throws what is wrong, with the seed and the latest events. */
export async function govern(life: GovernSimulation): Promise<GovernEnd> {
  const doing: string[] = [];
  try {
    return await live(life, doing);
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new Error(`seed ${life.seed}: ${what}\n  ${doing.slice(-4).join('\n  ')}`, { cause: error });
  }
}

async function live(
  { seed, store, only, mask, policy = (each) => each, betweenPasses = async () => {} }: GovernSimulation,
  doing: string[],
) {
  const company = await createCompany(seed);
  const { random } = company;
  const perDay = random.pick([1, 3, plenty]);
  const judge = createJudge(company, { perDay });
  const folder = await mkdtemp(join(tmpdir(), 'keywarden-govern-'));
  let happening = async () => {};
  const hostile = createHostileControlPlane({
    random,
    now: company.now,
    async forward(input, init) {
      await happening();
      return await judge.fetch(input, init);
    },
    topics: ['identity', 'organizations', 'members', 'keys', 'mint', 'revoke'],
    ...(only === undefined ? {} : { only }),
  });
  try {
    const context = await makeGovernContext(store, { company, folder, policy: policy(policyOf(random, perDay)) });
    const end: GovernEnd = { passes: 0, failedPasses: 0, revoked: 0, rotated: 0, incidents: 0, struck: hostile.struck };
    const scenario: Scenario = {
      company,
      hostile,
      judge,
      context,
      folder,
      store,
      mask: mask?.(company) ?? ((fetch) => fetch),
      betweenPasses,
      end,
      consumers: [],
    };
    await settle(scenario);
    await armMachine(context, 'ada');
    const steps = random.between(8, 18);
    for (let step = 0; step < steps; step += 1) {
      await liveOn(scenario, random.pick([6 * hour, day, 3 * day, 6 * day]));
      if (random.chance(0.8)) hostile.worsen();
      else hostile.calm();
      doing.push(`step ${step}, ${new Date(company.now()).toISOString()}: ${hostile.describe()}`);
      if (random.chance(0.5)) await hostile.refresh();
      if (random.chance(0.3)) await liveOn(scenario, random.below(4 * 60_000));
      // Events that may happen between two requests, and during sleeps.
      happening = async () => (random.chance(0.02) ? await happen(scenario) : undefined);
      company.onSleep = async () => {
        for (let events = random.below(4); events > 0; events -= 1) await happen(scenario);
      };
      await pass(scenario);
      if (random.chance(0.3)) await pass(scenario);
      happening = async () => {};
      company.onSleep = async () => {};
      assertUnharmed(judge);
    }
    hostile.calm();
    doing.push('calm');
    await becomeWhole(scenario, perDay);
    end.revoked = judge.revoked.filter(({ isRotation }) => !isRotation).length;
    end.rotated = judge.revoked.length - end.revoked;
    end.incidents = (await listIncidents(context.store.db, { isOpen: true, limit: 1000 })).length;
    return end;
  } finally {
    await company.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function policyOf(random: Company['random'], perDay: number): Record<string, unknown> {
  const revoking = { action: 'revoke', mode: 'enforce' };
  return {
    active_within: '2d',
    max_clock_skew: '5m',
    quotas: { per_day: perDay, open_rotations: 100 },
    enforcement: {
      organizations: { '*': { mode: 'enforce' } },
      breaker_percent: random.pick([40, 100]),
      canary_wait: '1h',
    },
    rules: [
      {
        name: 'old',
        match: { name: 'app-*' },
        older_than: `${limits.rotateDays}d`,
        action: 'rotate',
        mode: 'enforce',
        rotation: { sink: 'files' },
      },
      { name: 'never-used', match: { name: 'key-*' }, never_used_for: `${limits.neverUsedDays}d`, ...revoking },
      { name: 'unused', match: { name: 'key-*' }, unused_for: `${limits.unusedDays}d`, ...revoking },
      { name: 'left', match: { name: 'key-*' }, creator_left: true, even_in_use: true, ...revoking },
    ],
  };
}

async function makeGovernContext(
  store: TestStore,
  { company, folder, policy }: { company: Company; folder: string; policy: Record<string, unknown> },
): Promise<Context> {
  const { url, adminKey: apiKey } = company.sandbox;
  const text = JSON.stringify({ policy, sinks: [{ name: 'files', kind: 'file', path: join(folder, 'key-{line}') }] });
  const config = parseConfig(text, 'the simulation');
  const main = { name: 'main', url, identity: url, apiKey, keyId: '1', keyFile: null, share: 1 };
  const context = makeContext(await store.as('keywarden_daemon'), { ...config, channels: [], connections: [main] });
  context.environment = { ...readEnvironment({}), KEYWARDEN_DATA: folder };
  return context;
}

/** Makes the first keys, some of them already old, and the programs that use them. */
async function settle({ company, consumers }: Scenario): Promise<void> {
  const { random, organizations } = company;
  for (let index = 0; index < 4; index += 1) {
    const key = await company.mint({ name: `app-${index}`, organization: random.pick(organizations) });
    consumers.push({ key, everyDays: random.between(1, 3), usedAt: 0 });
  }
  await company.advance(random.between(0, 12) * day);
  for (let index = 0; index < 8; index += 1) await mintOne(company, index);
}

async function mintOne(company: Company, index: number): Promise<void> {
  const { random } = company;
  const by = random.chance(0.4) ? { by: 'a member' } : {};
  const key = await company.mint({ name: `key-${index}`, organization: random.pick(company.organizations), ...by });
  if (random.chance(0.5)) await company.use(key);
}

/** Simulates this much of the company's time, in ms. Keys are used, made and revoked by hand, members leave and return, and keys become exempt. */
async function liveOn(scenario: Scenario, ms: number): Promise<void> {
  const { company } = scenario;
  const { random } = company;
  const slices = Math.max(1, Math.ceil(ms / day));
  for (let slice = 0; slice < slices; slice += 1) {
    await company.advance(ms / slices);
    for (const key of company.keys.values())
      if (!key.name.startsWith('app-') && random.chance(0.12)) await company.use(key);
    await consume(scenario);
    if (random.chance(0.3)) await mintOne(company, company.keys.size);
    if (random.chance(0.05)) company.leaveOrReturn();
    if (random.chance(0.05)) await revokeByHand(company);
    if (random.chance(0.05)) await exemptOne(scenario);
  }
}

/** Makes one event that may happen at any moment. */
async function happen(scenario: Scenario): Promise<void> {
  const { company } = scenario;
  const { random, keys } = company;
  const what = random.next();
  const others = [...keys.values()].filter(({ name }) => name.startsWith('key-'));
  if (what < 0.6) await company.use(random.pick(others));
  else if (what < 0.8) company.leaveOrReturn();
  else await exemptOne(scenario);
}

async function exemptOne({ company, judge, context, store }: Scenario): Promise<void> {
  const rows = await store.sql`
    select number, name from keywarden.key where gone_at is null and name like 'key-%' order by name`;
  if (rows.length === 0) return;
  const row = company.random.pick(rows);
  const grantedAt = new Date(company.now()).toISOString();
  const until = new Date(company.now() + 400 * day).toISOString();
  const exemption = { keys: [String(row.number)], rules: null, pattern: null, reason: 'needed', grantedBy: 'ada' };
  await grantExemption(context.store.sql, { ...exemption, grantedAt, until });
  const id = [...company.keys.values()].find(({ name }) => name === row.name)?.id;
  if (id !== undefined && !judge.exempt.has(id)) judge.exempt.set(id, company.now());
}

async function revokeByHand({ sandbox, direct, keys, random, truth }: Company): Promise<void> {
  const live = (await truth()).filter(
    (key) => key.isLive && key.organizationId !== null && keys.get(key.id)?.name.startsWith('key-'),
  );
  if (live.length === 0) return;
  const { id, organizationId } = random.pick(live);
  const url = `${sandbox.url}/organizations/${organizationId}/api_keys/${id}`;
  await direct(url, { method: 'DELETE', headers: { authorization: `Bearer ${sandbox.adminKey}` } });
}
