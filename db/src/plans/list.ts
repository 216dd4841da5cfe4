import { and, eq, exists, gte, lt, sql } from 'drizzle-orm';
import { z } from 'zod';
import { coversOnlySeen } from '../exemptions/list.ts';
import { instant, json } from '../item.ts';
import { keyReference, organizationNameOfKey, ownerOfKey, referenceToKey } from '../keys/reference.ts';
import {
  equals,
  type FilterOf,
  isNumber,
  type List,
  listOf,
  matching,
  type Reader,
  visible,
  when,
  within,
} from '../list.ts';
import {
  approvalEndHows,
  findingActions,
  findingDispositions,
  planApprovalVias,
  plan as planTable,
  policyVersion,
} from '../schema/plans.ts';

export const findingItem = z
  .strictObject({
    plan_id: z.string(),
    rule: z.string(),
    action: z.enum(findingActions),
    disposition: z.enum(findingDispositions),
    why_held: z.string().nullable(),
    hold_kind: z.string().nullable(),
    limit: z.string(),
    reason: z.string(),
    evidence: json,
    key: keyReference,
    organization_name: z.string().nullable(),
    owner: z.string(),
  })
  .meta({ id: 'Finding' });

type Finding = z.output<typeof findingItem>;

const findingFilters = {
  rule: equals('f.rule'),
  action: (action: Finding['action']) => sql`f.action = ${action}`,
  disposition: (disposition: Finding['disposition']) => sql`f.disposition = ${disposition}`,
  /** The kind of hold, in one word. */
  holdKind: equals('f.hold_kind'),
  keyId: equals('k.id'),
  /** The store's number of the key. */
  key: isNumber('k.number'),
};
/** The plan is by default the newest. */
type FindingFilter = FilterOf<typeof findingFilters> & { planId?: string | undefined };

/** The id of the wanted plan: by default that of the newest. */
const wantedPlan = ({ planId }: FindingFilter) =>
  planId === undefined ? sql`(select id from keywarden.newest_plan)` : sql`${planId}`;

/** Lists the findings of one plan in its order, each with its key. */
export function findingList(filter: FindingFilter, organizations: string[] | null) {
  return listOf(findingItem, 'f', {
    from: sql`keywarden.finding_now f join keywarden.credential k on k.number = f.key_number`,
    item: {
      // What was written for several organizations may be about any of them.
      why_held:
        organizations === null
          ? sql`f.why_held`
          : sql`case when ${namesOthers(organizations)} then ${sharedHold} else f.why_held end`,
      limit: sql`f.rule_limit`,
      key: referenceToKey,
      organization_name: organizationNameOfKey,
      owner: ownerOfKey,
    },
    where: [
      sql`f.plan_id = ${wantedPlan(filter)}`,
      ...matching(findingFilters, filter),
      visible(sql`k.organization_id`, organizations),
    ],
    direction: 'asc',
  });
}

/**
 * Lists the same for a page: of one plan from the first page to the last, also if another becomes the newest meanwhile. Its edition is the plan as it was
 * last made, because the same plan can be made again with other findings.
 */
export async function findingListNow(
  db: Reader,
  filter: FindingFilter,
  organizations: string[] | null,
): Promise<List<typeof findingItem>> {
  const [plan] = await db.execute(sql`
    select id, findings_at::text from keywarden.plan where id = ${wantedPlan(filter)}`);
  if (plan === undefined) return findingList(filter, organizations);
  const id = String(plan.id);
  return { ...findingList({ ...filter, planId: id }, organizations), edition: `${id} ${String(plan.findings_at)}` };
}

const sharedHold = 'It is held for a reason that also concerns other organizations.';

/**
 * SQL: whether the reason of a hold may name other organizations: it has that of an exemption that covers their keys, or another scope shows the key. The
 * exemption may be of another key of the lineage, so its number is read from the reason.
 */
const namesOthers = (organizations: string[]) => sql`(f.hold_kind = 'identity_changed' or exists (
  select from regexp_matches(f.why_held, '[(]exemption ([0-9]+)[)]', 'g') m where not ${coversOnlySeen(sql`m[1]::numeric`, organizations)}))`;

export const planItem = z
  .strictObject({
    id: z.string(),
    sha256: z.string(),
    policy_sha256: z.string().nullable(),
    created_at: instant,
    last_made_at: instant.meta({ description: 'When the same facts last produced this plan' }),
    items: z.int(),
    held: z.int(),
    reported: z.int(),
    approvals: z.int(),
    approvers: z.int().meta({ description: 'Persons whose approval is valid now' }),
    approvers_needed: z.int(),
    rejected: z.boolean(),
    derived_from: z.string().nullable().meta({ description: 'The plan that this one is a part of' }),
    superseded_by: z.string().nullable().meta({ description: 'The newer plan, which can be approved instead' }),
    blocked: z
      .string()
      .nullable()
      .meta({ description: 'Why the daemon does not carry out an approved plan, as of its last pass' }),
    revoked: z.int().meta({ description: 'Keys that were revoked under this plan' }),
  })
  .meta({ id: 'Plan' });

const planFilters = {
  id: equals('p.id'),
  /** Created, or produced again, in this time. */
  madeFrom: (at: string) => sql`p.last_made_at >= ${at}::timestamptz`,
  madeTo: (at: string) => sql`p.created_at < ${at}::timestamptz`,
  /** Its findings are those of before this time. When the same facts but for what is held or reported make a plan again, its findings are others. */
  findingsTo: (at: string) => sql`p.findings_at < ${at}::timestamptz`,
  /** Only the plan that was made last: the same facts make an earlier plan again. */
  isNewest: (only: boolean) => (only ? sql`p.id = (select id from keywarden.newest_plan)` : undefined),
  /** Leaves out parts of plans. */
  isWhole: (only: boolean) => (only ? sql`p.derived_from is null` : undefined),
  /** Only plans that persons have approved and that were not carried out yet. */
  isApproved: (only: boolean) =>
    only ? sql`p.id in (select a.plan_id from keywarden.standing_approval a)` : undefined,
};
/** `asOf` orders the plans as they were made until this time. */
type PlanFilter = FilterOf<typeof planFilters> & { asOf?: string | undefined };

/** A column of the plan's standing. It is looked up for each plan that is shown, and for none that is only counted. */
const standing = (column: string) =>
  sql`(select s.${sql.raw(column)} from keywarden.plan_standing s where s.plan_id = p.id)`;

/** Lists plans, newest first, each with its decisions and how far it was carried out. */
export function planList({ asOf, ...filter }: PlanFilter = {}) {
  // A plan that the same facts made again after that time was made before it at the times that are known of it.
  const made = when(
    asOf,
    (at) => sql`cross join lateral (select case when p.last_made_at < ${at}::timestamptz then p.last_made_at
      else greatest(p.created_at, case when p.findings_at < ${at}::timestamptz then p.findings_at end) end as at) made`,
  );
  return listOf(planItem, 'p', {
    from: sql`keywarden.plan p ${made ?? sql``}`,
    item: {
      items: sql`p.item_count`,
      held: sql`p.held_count`,
      reported: sql`p.reported_count`,
      approvals: sql`(select count(*) from keywarden.plan_approval a where a.plan_id = p.id)`,
      approvers: standing('approvers'),
      approvers_needed: standing('approvers_needed'),
      superseded_by: standing('superseded_by'),
      blocked: sql`case when (select s.approvers > 0 and s.approvers >= s.approvers_needed from keywarden.plan_standing s where s.plan_id = p.id) then (
        select coalesce(e.why_not_approved, case when e.approvals_since >= (
            select max(a.approved_at) from keywarden.standing_approval a where a.plan_id = p.id and a.via = 'report')
          then 'it was approved before the daemon''s machine first saw this store; approve it again' end)
        from keywarden.enforcement_state e order by e.at desc limit 1) end`,
      rejected: sql`exists (select from keywarden.standing_rejection r where r.plan_id = p.id)`,
      revoked: sql`(select count(*) from keywarden.revocation_intent i
        join keywarden.revocation_outcome o on o.intent_number = i.number where i.plan_id = p.id and o.outcome = 'revoked')`,
    },
    where: matching(planFilters, filter),
    order: asOf === undefined ? { 'p.sequence': 'bigint' } : { 'made.at': 'timestamptz', 'p.sequence': 'bigint' },
    direction: 'desc',
  });
}

/** Returns how many keys a plan would still revoke: all but those that are known to be revoked or gone. */
export async function countKeysLeft(db: Reader, planId: string): Promise<number> {
  const [row] = await db.execute(sql`
    select (p.item_count - (
      select count(distinct f.key_number) from keywarden.finding_now f join keywarden.credential k on k.number = f.key_number
      where f.plan_id = p.id and f.disposition = 'planned' and k.gone_at is not null))::int as left
    from keywarden.plan p where p.id = ${planId}`);
  return Number(row?.left);
}

/** Lists the rule names of the policy that was used last, including that of access reviews. Empty before the first evaluation. */
export async function listRules(db: Reader): Promise<string[]> {
  const rows = await db.execute(sql`
    select r ->> 'name' as name from keywarden.policy_version v, jsonb_array_elements(v.document::jsonb -> 'rules') r
    where v.sha256 = (select policy_sha256 from keywarden.newest_plan)`);
  const names = rows.map((row) => String(row.name));
  return names.length === 0 ? [] : [...new Set([...names, 'access-review'])];
}

/** Returns a plan's canonical JSON, which its hash is computed from. */
export async function readPlanDocument(db: Reader, id: string): Promise<string | undefined> {
  const [row] = await db.select({ document: planTable.document }).from(planTable).where(eq(planTable.id, id));
  return row?.document;
}

export const planDecision = z
  .strictObject({
    plan_id: z.string(),
    decision: z.enum(['approved', 'rejected']),
    by: z.string(),
    via: z.enum(planApprovalVias),
    reason: z.string().nullable(),
    at: instant,
    ended: z.enum(approvalEndHows).nullable(),
  })
  .meta({ id: 'PlanDecision' });

const decisionFilters = { planId: equals('d.plan_id'), ...within(sql`d.at`) };

/** Lists the approvals and rejections of plans, newest first. */
export function planDecisionList(filter: FilterOf<typeof decisionFilters>) {
  return listOf(planDecision, 'd', {
    from: sql`(
      select a.plan_id, 'approved' as decision, a.approved_by as by, a.via, null as reason, a.approved_at as at, a.number,
        (select e.how from keywarden.approval_end e where e.approval_number = a.number) as ended from keywarden.plan_approval a
      union all
      select r.plan_id, 'rejected', r.rejected_by, 'report', r.reason, r.rejected_at, r.number, null from keywarden.plan_rejection r) d`,
    where: matching(decisionFilters, filter),
    order: { 'd.at': 'timestamptz', 'd.decision': 'text', 'd.number': 'bigint' },
    direction: 'desc',
  });
}

/** Lists the policies of the plans of a period, oldest first, each with the time from which plans used it, by the database's clock. */
export async function listPolicies(db: Reader, { from, to }: { from: string; to: string }) {
  const { sha256, firstUsedAt, document } = policyVersion;
  const { id, policySha256, lastMadeAt, createdAt } = planTable;
  const isOfPeriod = and(eq(policySha256, sha256), gte(lastMadeAt, from), lt(createdAt, to));
  return await db
    .select({ sha256, used_from: firstUsedAt, document })
    .from(policyVersion)
    .where(exists(db.select({ id }).from(planTable).where(isOfPeriod)))
    .orderBy(firstUsedAt, sha256);
}
