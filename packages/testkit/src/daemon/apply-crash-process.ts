import { policySchema } from '@keywarden/core/policy';
import { applyPlan, openConnections, readDocument } from '@keywarden/daemon';
import { openStore } from '@keywarden/db/store';
import type { ConnectionConfig } from '@keywarden/runtime/config';
import { workOnOrder } from '../crash-order.ts';
import { deadlyFetch, type KillAt, makeContext } from './fixture.ts';

// A process that applies a plan and is killed at one step, by its own code or by its parent.

export interface Order {
  databaseUrl: string;
  connection: ConnectionConfig;
  policy: object;
  planId: string;
  /** The request at which the process kills itself, counted among the requests of one method. If null, the test kills it from outside. */
  killAt: KillAt | null;
}

workOnOrder(apply);

async function apply({ databaseUrl, connection, policy, planId, killAt }: Order): Promise<void> {
  const options = { dataFolder: '.', applicationName: 'crash process', role: 'keywarden_daemon' } as const;
  const store = await openStore({ ...options, databaseUrl });
  const parsed = policySchema.parse(policy);
  const context = makeContext(store, { connections: [connection], channels: [], policy: parsed });
  const connections = await openConnections(store.sql, { ...context, fetch: deadlyFetch(killAt) }, (_name, error) => {
    throw error;
  });
  const { items } = await readDocument(context, planId);
  await applyPlan(context, { planId, items, approver: { via: 'command line', approvedBy: 'ada' }, connections });
}
