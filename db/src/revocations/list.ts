import { sql } from 'drizzle-orm';
import { type List, time, visible, when, within } from '../list.ts';
import { keyReference } from '../plans/list.ts';

export interface RevocationFilter {
  keyNumber?: string | undefined;
  organizationId?: string | undefined;
  cause?: 'plan' | 'rotation' | undefined;
  outcome?: 'revoked' | 'gone' | 'not_revoked' | 'failed' | 'open' | undefined;
  planId?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** Attempts to revoke a key, newest first: when, by whose word, for what reason, and what became of it. */
export function revocationList(filter: RevocationFilter, organizations: string[] | null): List {
  return {
    from: sql`keywarden.revocation_intent i join keywarden.credential k on k.number = i.key_number
      left join keywarden.revocation_outcome o on o.intent_number = i.number
      left join keywarden.plan_approval a on a.number = i.approval_number
      left join keywarden.rotation r on r.number = i.rotation_number`,
    item: {
      id: sql`i.number::text`,
      key: keyReference,
      cause: sql`case when i.plan_id is null then 'rotation' else 'plan' end`,
      plan_id: sql`i.plan_id`,
      rotation_id: sql`r.id`,
      approved_by: sql`coalesce(a.approved_by, r.requested_by)`,
      via: sql`coalesce(a.via, r.via)`,
      reasons: sql`case when i.plan_id is null then json_build_array(json_build_object('rule', r.rule, 'reason',
          'its successor is in use, and it has been quiet'))
        else coalesce((select json_agg(json_build_object('rule', f.rule, 'reason', f.reason) order by f.number) from keywarden.finding f
          where f.plan_id = i.plan_id and f.key_number = i.key_number and f.disposition = 'planned'), '[]') end`,
      connection: sql`i.connection`,
      policy_sha256: sql`i.policy_sha256`,
      intended_at: time(sql`i.created_at`),
      judged_at: time(sql`i.judged_at`),
      outcome: sql`coalesce(o.outcome, 'open')`,
      ended_at: time(sql`o.at`),
      used_in_flight: sql`coalesce(o.used_in_flight, false)`,
    },
    where: [
      when(filter.keyNumber, (number) => sql`i.key_number = ${number}::bigint`),
      when(filter.organizationId, (id) => sql`k.organization_id = ${id}`),
      when(filter.cause, (cause) => (cause === 'plan' ? sql`i.plan_id is not null` : sql`i.plan_id is null`)),
      when(filter.outcome, (outcome) => sql`coalesce(o.outcome, 'open') = ${outcome}`),
      when(filter.planId, (id) => sql`i.plan_id = ${id}`),
      ...within(sql`coalesce(i.judged_at, i.created_at)`, filter),
      visible(sql`k.organization_id`, organizations),
    ],
    order: [{ by: sql`i.number`, type: 'bigint' }],
    direction: 'desc',
  };
}
