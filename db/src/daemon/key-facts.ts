import type { Announcement, Exemption } from '@keywarden/core/policy';
import { toMs } from '@keywarden/core/wire';
import { toInstant } from '../schema/columns.ts';
import type { Sql } from '../store.ts';

/** Who answers for each key: whom it was assigned to last, else its creator, by e-mail where members are listed. */
export async function readOwners(
  sql: Sql,
): Promise<(row: { number: string; controlPlaneNumber: string; creatorId: string }) => string> {
  const assigned = await sql`
    select distinct on (key_number) key_number, owner from keywarden.key_owner order by key_number, number desc`;
  const members = await sql`
    select distinct on (control_plane_number, user_id) control_plane_number, user_id, email from keywarden.member
    order by control_plane_number, user_id, left_at is null desc, last_seen_at desc, email`;
  const owners = new Map(
    assigned.map((row) => [String(row.key_number), row.owner === null ? null : String(row.owner)]),
  );
  const emails = new Map(members.map((row) => [`${row.control_plane_number}/${row.user_id}`, String(row.email)]));
  return ({ number, controlPlaneNumber, creatorId }) =>
    owners.get(number) ?? emails.get(`${controlPlaneNumber}/${creatorId}`) ?? creatorId;
}

/** The exemptions in force for each key, by the control plane's own clock; where that is not known, by ours. */
export async function readExemptions(
  sql: Sql,
  nowMs: (controlPlane: string) => number | null,
): Promise<(number: string) => Exemption[]> {
  const rows = await sql`
    select x.key_number, e.number, e.rules, e.reason, e.granted_by, e.until, k.control_plane_number
    from keywarden.exemption e join keywarden.exemption_key x on x.exemption_number = e.number
      join keywarden.key k on k.number = x.key_number
    where e.ended_at is null order by e.number`;
  const inForce = rows.filter(
    (row) => toMs(toInstant(String(row.until))) > (nowMs(String(row.control_plane_number)) ?? Date.now()),
  );
  return byKey(inForce, (row) => ({
    number: String(row.number),
    rules: Array.isArray(row.rules) ? row.rules.map(String) : null,
    reason: String(row.reason),
    grantedBy: String(row.granted_by),
    until: toInstant(String(row.until)),
  }));
}

/** The open announcements of each key, with the steps that every channel has accepted. */
export async function readAnnouncements(sql: Sql, channels: string[]): Promise<(number: string) => Announcement[]> {
  const rows = await sql`
    select a.key_number, a.rule, a.basis, coalesce(json_agg(json_build_object('step', s.step, 'at', s.accepted_at)
      order by s.step) filter (where s.step is not null), '[]') as accepted
    from keywarden.announcement a left join lateral (
      select n.step, max(m.accepted_at) as accepted_at
      from keywarden.notice n join keywarden.notice_message m on m.number = n.message_number
      where n.announcement_number = a.number and n.channel = any(${channels}) and m.accepted_at is not null
      group by n.step having count(distinct n.channel) = ${channels.length}) s on true
    where a.ended_at is null group by a.number order by a.number`;
  return byKey(rows, (row) => ({
    rule: String(row.rule),
    basis: String(row.basis),
    accepted: (row.accepted as { step: string; at: string }[]).map(({ step, at }) => ({ step, at: toInstant(at) })),
  }));
}

/**
 * Keys that stand in a plan which a person has had carried out in the last 90 days, under the policy in force: to go, or to wait for a
 * quota, a notice or a second listing.
 */
export async function readAcknowledged(sql: Sql, policySha256: string): Promise<Set<string>> {
  const rows = await sql`
    select distinct f.key_number from keywarden.plan_approval a join keywarden.plan p on p.id = a.plan_id
      join keywarden.finding f on f.plan_id = a.plan_id
    where a.via <> 'enforcement' and p.policy_sha256 = ${policySha256} and a.approved_at > now() - interval '90 days'
      and exists (select from keywarden.approval_end e where e.approval_number = a.number and e.how = 'done')
      and f.action = 'revoke' and (f.disposition = 'planned' or f.hold_kind in ('over_quota', 'unannounced', 'seen_once'))`;
  return new Set(rows.map((row) => String(row.key_number)));
}

/** Keys of which an attempt was refused, or led to nothing, in the last three days. */
export async function readFailedLately(sql: Sql): Promise<Set<string>> {
  const rows = await sql`
    select distinct i.key_number from keywarden.revocation_intent i
      join keywarden.revocation_outcome o on o.intent_number = i.number
    where o.outcome in ('failed', 'not_revoked') and o.at > now() - interval '3 days'`;
  return new Set(rows.map((row) => String(row.key_number)));
}

/** From where each key was used since a time, newest use of each address. */
export async function readAddresses(
  sql: Sql,
  sinceMs: number,
): Promise<(number: string) => { address: string; at: string }[]> {
  const rows = await sql`
    select key_number, address, max(last_used_at) as at from keywarden.key_use
    where last_used_at >= ${new Date(sinceMs).toISOString()}::timestamptz and address <> ''
    group by key_number, address order by key_number, address`;
  return byKey(rows, (row) => ({ address: String(row.address), at: toInstant(String(row.at)) }));
}

function byKey<T, Row extends Record<string, unknown>>(
  rows: readonly Row[],
  toValue: (row: Row) => T,
): (number: string) => T[] {
  const groups = Map.groupBy(rows, (row) => String(row.key_number));
  return (number) => (groups.get(number) ?? []).map(toValue);
}
