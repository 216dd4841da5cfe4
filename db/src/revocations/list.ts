import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant, time } from '../item.ts';
import { keyReference, referenceToKey } from '../keys/reference.ts';
import { equals, type FilterOf, isNumber, listOf, matching, visible, within } from '../list.ts';
import { revocationOutcomeOutcomes } from '../schema/revocations.ts';

export const revocationItem = z
  .strictObject({
    id: z.string(),
    key: keyReference,
    cause: z.enum(['plan', 'rotation']),
    plan_id: z.string().nullable(),
    rotation_id: z.string().nullable(),
    approved_by: z.string().nullable(),
    via: z.string().nullable(),
    reasons: z.array(z.strictObject({ rule: z.string().nullable(), reason: z.string() })),
    connection: z.string(),
    policy_sha256: z.string().nullable(),
    intended_at: instant,
    judged_at: instant.nullable().meta({ description: "The control plane's time at which the key was judged" }),
    outcome: z.enum([...revocationOutcomeOutcomes, 'open']).meta({
      description:
        'gone: no longer there, and not known to be revoked by Keywarden. open: later listings decide the outcome',
    }),
    ended_at: instant.nullable(),
    used_in_flight: z.boolean(),
    gone_at: instant.nullable().meta({
      description:
        'When a second listing in a row lacked the key, after its last attempt had been refused or had not revoked it. The answer may have been false; who revoked the key is not known',
    }),
  })
  .meta({ id: 'Revocation' });

type Revocation = z.output<typeof revocationItem>;

const filters = {
  /** The store's number of a key. */
  key: isNumber('i.key_number'),
  organizationId: equals('k.organization_id'),
  cause: (cause: Revocation['cause']) => (cause === 'plan' ? sql`i.plan_id is not null` : sql`i.plan_id is null`),
  outcome: (outcome: Revocation['outcome']) => sql`coalesce(o.outcome, 'open') = ${outcome}`,
  planId: equals('i.plan_id'),
  ...within(sql`coalesce(i.judged_at, i.created_at)`),
};

/** Lists attempts to revoke a key, newest first: the time, the approver, the reason and the outcome. */
export function revocationList(filter: FilterOf<typeof filters>, organizations: string[] | null) {
  return listOf(revocationItem, 'i', {
    from: sql`keywarden.revocation_intent i join keywarden.credential k on k.number = i.key_number
      left join keywarden.revocation_outcome o on o.intent_number = i.number
      left join keywarden.plan_approval a on a.number = i.approval_number
      left join keywarden.rotation r on r.number = i.rotation_number`,
    item: {
      id: sql`i.number::text`,
      key: referenceToKey,
      cause: sql`case when i.plan_id is null then 'rotation' else 'plan' end`,
      rotation_id: sql`r.id`,
      approved_by: sql`coalesce(a.approved_by, r.requested_by)`,
      via: sql`coalesce(a.via, r.via)`,
      reasons: sql`case when i.plan_id is null then json_build_array(json_build_object('rule', r.rule, 'reason', case
          when i.key_number = r.key_number then 'its successor is in use, and it has been quiet'
          else 'it is a successor whose secret was lost before its delivery' end))
        else coalesce((select json_agg(json_build_object('rule', f.rule, 'reason', f.reason) order by f.number) from keywarden.finding_now f
          where f.plan_id = i.plan_id and f.key_number = i.key_number and f.disposition = 'planned'), '[]') end`,
      intended_at: time(sql`i.created_at`),
      outcome: sql`coalesce(o.outcome, 'open')`,
      ended_at: time(sql`o.at`),
      used_in_flight: sql`coalesce(o.used_in_flight, false)`,
      gone_at: time(sql`case when o.outcome in ('failed', 'not_revoked') and not exists (
        select from keywarden.revocation_intent later where later.key_number = i.key_number and later.attempt > i.attempt) then k.gone_at end`),
    },
    where: [...matching(filters, filter), visible(sql`k.organization_id`, organizations)],
  });
}
