import { and, asc, desc, eq, inArray, sql } from 'drizzle-orm';
import { finding, plan, planApproval, revocationIntent, revocationOutcome } from '../schema/governance.ts';
import { key, syncRun } from '../schema/tables.ts';
import type { Db } from '../store.ts';
import { afterPosition, type PageRequest } from './keyset.ts';

export interface FindingFilter {
  /** The newest plan's when absent. */
  planId?: string | undefined;
  rule?: string | undefined;
  disposition?: 'planned' | 'held' | 'reported' | undefined;
  keyId?: string | undefined;
}

/** Findings of one plan, in the plan's order, each with its key. */
export async function listFindings(
  db: Db,
  { filter, organizations, page }: { filter: FindingFilter; organizations: string[] | null; page: PageRequest },
) {
  const newest = sql`(select id from ${plan} order by last_made_at desc, sequence desc limit 1)`;
  return await db
    .select({ finding, key })
    .from(finding)
    .innerJoin(key, eq(key.number, finding.keyNumber))
    .where(
      and(
        eq(finding.planId, filter.planId ?? newest),
        filter.rule === undefined ? undefined : eq(finding.rule, filter.rule),
        filter.disposition === undefined ? undefined : eq(finding.disposition, filter.disposition),
        filter.keyId === undefined ? undefined : eq(key.id, filter.keyId),
        organizations === null ? undefined : inArray(key.organizationId, organizations),
        afterPosition([[finding.number, 'bigint']], 'asc', page.after),
      ),
    )
    .orderBy(asc(finding.number))
    .limit(page.limit);
}

const approvals = sql<number>`(select count(*)::int from ${planApproval} where plan_id = ${plan.id})`;
const revoked = sql<number>`(select count(*)::int from ${revocationIntent} i join ${revocationOutcome} o on o.intent_number = i.number
  where i.plan_id = ${plan.id} and o.outcome = 'revoked')`;
const planColumns = {
  sequence: plan.sequence,
  id: plan.id,
  sha256: plan.sha256,
  createdAt: plan.createdAt,
  itemCount: plan.itemCount,
  heldCount: plan.heldCount,
  reportedCount: plan.reportedCount,
  approvals,
  revoked,
};

/** Plans, newest first, each with how far it was carried out. */
export async function listPlans(db: Db, page: PageRequest) {
  return await db
    .select(planColumns)
    .from(plan)
    .where(afterPosition([[plan.sequence, 'bigint']], 'desc', page.after))
    .orderBy(desc(plan.sequence))
    .limit(page.limit);
}

export async function findPlan(db: Db, id: string) {
  const [found] = await db
    .select({ ...planColumns, document: plan.document })
    .from(plan)
    .where(eq(plan.id, id));
  return found;
}

/** Sync runs, newest first. */
export async function listRuns(db: Db, { kind, page }: { kind: 'keys' | 'operations' | undefined; page: PageRequest }) {
  return await db
    .select()
    .from(syncRun)
    .where(
      and(
        kind === undefined ? undefined : eq(syncRun.kind, kind),
        afterPosition([[syncRun.number, 'bigint']], 'desc', page.after),
      ),
    )
    .orderBy(desc(syncRun.number))
    .limit(page.limit);
}
