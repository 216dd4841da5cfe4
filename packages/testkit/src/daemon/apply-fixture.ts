import { type PlanItem, policySchema } from '@keywarden/core/policy';
import { applyPlan, enforce, planKeys, syncKeys } from '@keywarden/daemon';
import { listIncidents } from '@keywarden/db/daemon';
import { makePrincipal } from '@keywarden/testkit/store/principal';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, inject } from 'vitest';
import {
  connectionOf,
  type Fixture,
  type FixtureOptions,
  makeFixture,
  neverUsedPolicy,
  neverUsedRule,
} from './fixture.ts';

/** Bindings that the tests of applying share; each test gets new values. */
/** The program of a process that applies a plan and dies at the configured step. */
export const applyCrashProcess = new URL('apply-crash-process.ts', import.meta.url);

export let store: TestStore;
export let fixture: Fixture;
export let organization: string;

/** Opens a store for each test of a file; `prepare` makes the rest. */
export function useApplyFixture(): void {
  beforeEach(async () => {
    store = await createTestStore(inject('postgresUrl'));
  });
  afterEach(async () => {
    await fixture.close();
    await store.close();
  });
}

export interface Minted {
  id: number;
  key: string;
}

export const mint = (name: string) =>
  fixture.ask<Minted>('POST', `/organizations/${organization}/api_keys`, { key_name: name });

/** Prepares an organization with these keys, minted 40 days ago. None was ever used except `busy`, which was just used. */
export async function prepare(names: string[], options: FixtureOptions = {}): Promise<Record<string, Minted>> {
  fixture = await makeFixture(store, { policy: neverUsedPolicy, ...options });
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0 });
  const { organizations } = await fixture.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  organization = organizations[0]?.id ?? '';
  const minted: Record<string, Minted> = {};
  for (const name of names) minted[name] = await mint(name);
  await fixture.controls.advance(40 * 86_400);
  if (minted.busy) await use(minted.busy.key);
  await fixture.reconnect();
  return minted;
}

export async function use(key: string): Promise<void> {
  await fetch(`${fixture.sandbox.url}/auth`, { headers: { authorization: `Bearer ${key}` } });
}

export async function makeStoredPlan() {
  await syncKeys(fixture.context, connectionOf(fixture));
  return await planKeys(fixture.context, fixture.connections);
}

export async function apply(
  { id, document }: { id: string; document: { items: PlanItem[] } },
  { signal }: { signal: AbortSignal } = fixture.context,
) {
  const approver = { via: 'command line', approvedBy: 'ada' } as const;
  return await applyPlan(
    { ...fixture.context, signal },
    {
      planId: id,
      items: document.items,
      approver,
      connections: fixture.connections,
    },
  );
}

export async function revokedNames(): Promise<string[]> {
  const keys = await fixture.controls.keys();
  return keys.filter((key) => key.revoked_at !== null).map((key) => key.name);
}

/** Returns what an apply did, by key name. */
export const outcomes = (applied: Awaited<ReturnType<typeof apply>>) =>
  Object.fromEntries(
    applied.items.map(({ item, outcome, why }) => [item.key.name, why === null ? outcome : `${outcome}: ${why}`]),
  );

/** Returns a policy with automatic revocation everywhere. */
export const enforced = (change: object = {}) =>
  policySchema.parse({
    enforcement: { organizations: { '*': { mode: 'enforce' } } },
    rules: [{ ...neverUsedRule, mode: 'enforce' }],
    ...change,
  });

/** Makes one scheduled run, about an hour after the previous one. */
export async function pass(seconds = 3700) {
  await fixture.controls.advance(seconds);
  await fixture.reconnect();
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
  return await enforce(fixture.context, fixture.connections);
}

/** Slightly more than a day, in seconds: the control plane's times are whole seconds. */
export const day = 86_460;

export const openIncidents = async () =>
  (await listIncidents(fixture.context.store.db, { isOpen: true, limit: 10 })).map(({ kind }) => kind);

/** Approves a plan as the report does for an operator. */
export async function approveByReport(planId: string, person = 'olga'): Promise<string | null> {
  const report = await store.as('keywarden_report');
  const { credential } = await makePrincipal(store, person);
  const [row] = await report.sql`select keywarden.approve_plan(${credential}, ${planId}) as number`;
  return row?.number === null ? null : String(row?.number);
}
