import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ControlPlaneError } from '@keywarden/core/client';
import type { Context } from '@keywarden/daemon';
import { applyPlan, type Connection, enforce, openConnections, planKeys, rotate, syncKeys } from '@keywarden/daemon';
import { UserError } from '@keywarden/runtime';
import type { HostileControlPlane, Mask } from '@keywarden/testkit';
import { budgetsOf } from '@keywarden/testkit/daemon/fixture';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import { letOwnClockPass } from '../archive/own-clock.ts';
import type { Company, CompanyKey } from './company.ts';
import type { Judge } from './judge.ts';

export interface GovernEnd {
  passes: number;
  failedPasses: number;
  revoked: number;
  rotated: number;
  /** Keys that a person would have to review at the end. */
  incidents: number;
  struck: Map<string, number>;
}

export const hour = 3_600_000;
export const day = 24 * hour;

export interface Scenario {
  company: Company;
  hostile: HostileControlPlane;
  judge: Judge;
  context: Context;
  folder: string;
  consumers: Consumer[];
  store: TestStore;
  mask: Mask;
  betweenPasses: (store: TestStore) => Promise<void>;
  end: GovernEnd;
}

/** A program that uses a key, and takes its successor from the sink. */
interface Consumer {
  key: CompanyKey;
  everyDays: number;
  usedAt: number;
}

/** Lets each program take what its sink holds and use it. A program that holds only a dead key is an outage. */
export async function consume({ company, consumers, folder, judge }: Scenario): Promise<void> {
  for (const consumer of consumers) {
    if (company.now() - consumer.usedAt < consumer.everyDays * day) continue;
    const secret = readSink(join(folder, `key-${consumer.key.id}`)) ?? consumer.key.secret;
    const status = await company.use({ ...consumer.key, secret, uses: [] });
    consumer.usedAt = company.now();
    if (status !== 200) judge.harms.push(`${consumer.key.name} was answered ${status}`);
  }
}

function readSink(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null; // nothing has been delivered yet
  }
}

/** Makes one scheduled run: lists keys twice, over an hour apart, then carries out the policy and the rotations. */
export async function pass(scenario: Scenario): Promise<void> {
  const { company, context, store, end, betweenPasses } = scenario;
  end.passes += 1;
  await letOwnClockPass(store.sql);
  await betweenPasses(store);
  await attempt(scenario, async () => {
    for (const connection of await reconnect(scenario)) await syncKeys(context, connection);
  });
  await company.advance(1.02 * hour);
  await attempt(scenario, async () => {
    const connections = await reconnect(scenario);
    for (const connection of connections)
      await attempt(scenario, async () => void (await syncKeys(context, connection)));
    await attempt(scenario, async () => void (await enforce(context, connections)));
    await attempt(scenario, async () => void (await rotate(context, connections)));
    if (company.random.chance(0.1)) await attempt(scenario, async () => await applyByHand(context, connections));
  });
}

export async function reconnect({ company, context, hostile, mask }: Scenario): Promise<Connection[]> {
  const time = { now: company.now, sleep: company.sleep };
  context.limiters.clear();
  return await openConnections(
    context.store.sql,
    { ...context, time, random: () => 0.5, fetch: mask(hostile.fetch), budgets: budgetsOf(context.store.sql, time) },
    (_name, error) => {
      throw error;
    },
  );
}

export async function applyByHand(context: Context, connections: Connection[]): Promise<void> {
  const plan = await planKeys(context, connections);
  const approver = { via: 'command line', approvedBy: 'ada' } as const;
  await applyPlan(context, { planId: plan.id, items: plan.document.items, approver, connections });
}

/** Runs work that may fail with the expected errors of control-plane responses; any other error is a crash of the pass. */
export async function attempt({ end }: Scenario, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof UserError || error instanceof ControlPlaneError)) throw error;
    end.failedPasses += 1;
  }
}

export function assertUnharmed({ harms }: Judge): void {
  if (harms.length > 0) throw new Error(harms.join('; '));
}
