import type { Announcement, Exemption, KeyFacts, Lineage } from '@keywarden/core/policy';
import { toMs } from '@keywarden/core/values';
import { type CredentialKind, isKeyKind, unknownCreator } from '@keywarden/core/wire';
import { and, asc, desc, eq, gte, isNotNull, isNull, max, ne, or, sql as raw } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { toInstant } from '../../schema/columns.ts';
import { exemption, exemptionKey } from '../../schema/exemptions.ts';
import { credential, keyOwner, keyUse } from '../../schema/keys.ts';
import { member } from '../../schema/organizations.ts';
import { approvalEnd, plan } from '../../schema/plans.ts';
import { project } from '../../schema/projects.ts';
import { revocationIntent, revocationOutcome } from '../../schema/revocations.ts';
import { countedApproval, findingNow, reviewVerdict } from '../../schema/views.ts';
import { anyOf, type Db, hasValues, type Sql } from '../../sql.ts';

/** Returns the lineage of a key, by its number; undefined for a key that is a lineage of its own. */
export type LineageOf = (number: string) => Lineage | undefined;

/** SQL: the keys of the lineages that rotations have created, each with its lineage's number. A lineage begins with a key that is being rotated. */
export const keysOfLineages = (sql: Sql) => sql`(
  select l.key_number, l.lineage_number from keywarden.key_lineage l union select r.key_number, r.lineage_number from keywarden.rotation r)`;

/** Returns the lineages that rotations have created, and which of their keys are in an open rotation. */
export async function readLineages(
  sql: Sql,
  one: { controlPlane: string; scope: string } | undefined,
): Promise<LineageOf> {
  const rows = await sql`
    select distinct on (n.key_number) n.key_number, n.lineage_number, f.creator_id, f.name, o.id, o.key_number = n.key_number as is_old
    from ${keysOfLineages(sql)} n join keywarden.key f on f.number = n.lineage_number
      left join keywarden.rotation o on o.lineage_number = n.lineage_number and o.ended_at is null and (o.key_number = n.key_number
        or exists (select from keywarden.key_lineage l where l.key_number = n.key_number and l.rotation_number = o.number))
    where ${one === undefined} or f.control_plane_number = ${one?.controlPlane ?? null}::bigint and f.scope = ${one?.scope ?? null}::text
    order by n.key_number, o.number`;
  const lineages = new Map(
    rows.map((row) => {
      const role: 'old' | 'successor' = row.is_old ? 'old' : 'successor';
      const rotation = row.id === null ? null : { id: String(row.id), role };
      const facts: Lineage = {
        number: String(row.lineage_number),
        creatorId: String(row.creator_id),
        name: String(row.name),
        rotation,
      };
      return [String(row.key_number), facts] as const;
    }),
  );
  return (number) => lineages.get(number);
}

/**
 * Returns each key's owner: the last one assigned to the key or to another key of its lineage. Otherwise it is the creator of the lineage,
 * by e-mail where members are listed. Other credentials record no creator: their owner is the owner of their project.
 */
export async function readOwners(db: Db, lineageOf: LineageOf): Promise<(row: Owned) => string> {
  const rows = await db
    .select({ key: keyOwner.keyNumber, owner: keyOwner.owner })
    .from(keyOwner)
    .orderBy(asc(keyOwner.number));
  const { controlPlaneNumber, userId, email, leftAt, lastSeenAt } = member;
  const members = await db
    .selectDistinctOn([controlPlaneNumber, userId], { controlPlane: controlPlaneNumber, userId, email })
    .from(member)
    .orderBy(controlPlaneNumber, userId, desc(isNull(leftAt)), desc(lastSeenAt), asc(email));
  const projects = await db
    .select({ controlPlane: project.controlPlaneNumber, id: project.id, owner: project.ownerId })
    .from(project)
    .where(isNotNull(project.ownerId));
  const ownerOfProject = new Map(projects.map(({ controlPlane, id, owner }) => [`${controlPlane}/${id}`, owner]));
  const owners = new Map(rows.map(({ key, owner }) => [firstOf(lineageOf, key), owner]));
  const emails = new Map(members.map((row) => [`${row.controlPlane}/${row.userId}`, row.email]));
  return ({ number, controlPlaneNumber, creatorId, kind, projectId }) => {
    const made = lineageOf(number)?.creatorId ?? creatorId;
    const hasNoRecordedCreator = made === unknownCreator && kind !== undefined && !isKeyKind(kind);
    const creator =
      (hasNoRecordedCreator ? ownerOfProject.get(`${controlPlaneNumber}/${projectId}`) : undefined) ?? made;
    return owners.get(firstOf(lineageOf, number)) ?? emails.get(`${controlPlaneNumber}/${creator}`) ?? creator;
  };
}

interface Owned {
  number: string;
  controlPlaneNumber: string;
  creatorId: string;
  kind?: CredentialKind;
  projectId?: string | null;
}

const firstOf = (lineageOf: LineageOf, number: string) => lineageOf(number)?.number ?? number;

/**
 * Returns the exemptions in force for each key and its whole lineage (T4). Times use the control plane's own clock, or ours if that is
 * unknown. A record that another scope's list shows or has shown is the same key, because the key may have moved there.
 */
export async function readExemptions(
  db: Db,
  nowMs: (controlPlane: string) => number,
  lineageOf: LineageOf,
): Promise<(number: string) => Exemption[]> {
  const { number, rules, reason, grantedBy, until, endedAt } = exemption;
  const same = alias(credential, 'same');
  const isSame = and(
    hasValues(same, { controlPlaneNumber: credential.controlPlaneNumber, id: credential.id }),
    raw`(${same.creatorId} = ${credential.creatorId} or ${unknownCreator} in (${same.creatorId}, ${credential.creatorId}))`,
    raw`date_trunc('second', ${same.createdAt}) = date_trunc('second', ${credential.createdAt})`,
  );
  const rows = await db
    .selectDistinct({
      key_number: same.number,
      exemption: { number, rules, reason, grantedBy, until },
      controlPlane: credential.controlPlaneNumber,
    })
    .from(exemption)
    .innerJoin(exemptionKey, eq(exemptionKey.exemptionNumber, number))
    .innerJoin(credential, eq(credential.number, exemptionKey.keyNumber))
    .innerJoin(same, isSame)
    .where(isNull(endedAt))
    .orderBy(asc(number));
  const inForce = rows.filter((row) => toMs(row.exemption.until) > nowMs(row.controlPlane));
  const exemptionsOf = byKey(
    inForce,
    (row) => row.exemption,
    (keyNumber) => firstOf(lineageOf, keyNumber),
  );
  return (number) => exemptionsOf(firstOf(lineageOf, number));
}

/** Returns the open announcements of each key, with the steps that every channel has accepted. */
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
 * Returns the keys in a plan that a person approved in the last 90 days and that was carried out, under the policy in force. Those keys
 * were to be revoked, or an open breaker of the plan counted them. An approval that counts no longer, as after a rejection, acknowledges none.
 */
export async function readAcknowledged(db: Db, policySha256: string): Promise<Set<string>> {
  const { keyNumber, action, disposition, inBreaker } = findingNow;
  const isDone = hasValues(approvalEnd, { approvalNumber: countedApproval.number, how: 'done' });
  const rows = await db
    .selectDistinct({ keyNumber })
    .from(countedApproval)
    .innerJoin(plan, eq(plan.id, countedApproval.planId))
    .innerJoin(findingNow, eq(findingNow.planId, countedApproval.planId))
    .innerJoin(approvalEnd, isDone)
    .where(
      and(
        ne(countedApproval.via, 'enforcement'),
        eq(plan.policySha256, policySha256),
        raw`${countedApproval.approvedAt} > now() - interval '90 days'`,
        eq(action, 'revoke'),
        or(eq(disposition, 'planned'), eq(inBreaker, true)),
      ),
    );
  return new Set(rows.map((row) => row.keyNumber));
}

/** Returns the keys with a refused or unsuccessful attempt in the last three days. */
export async function readFailedLately(db: Db): Promise<Set<string>> {
  const { outcome, detail, at } = revocationOutcome;
  const rows = await db
    .selectDistinct({ key: revocationIntent.keyNumber })
    .from(revocationIntent)
    .innerJoin(revocationOutcome, eq(revocationOutcome.intentNumber, revocationIntent.number))
    .where(
      and(
        anyOf(outcome, ['failed', 'not_revoked']),
        raw`coalesce(${detail} ->> 'sent', 'true') <> 'false'`,
        raw`${at} > now() - interval '3 days'`,
      ),
    );
  return new Set(rows.map(({ key }) => key));
}

/** Returns the keys that the newest signed access review that includes them wants revoked. */
export async function readReviewedOut(db: Db): Promise<Map<string, NonNullable<KeyFacts['reviewedOut']>>> {
  const { keyNumber, reviewNumber: review, decidedBy: by, decidedAt: at, reason, signerWasRevoked } = reviewVerdict;
  const rows = await db
    .select({ keyNumber, review, by, at, reason, signerWasRevoked })
    .from(reviewVerdict)
    .where(eq(reviewVerdict.decision, 'revoke'));
  return new Map(
    rows.map(({ keyNumber: of, signerWasRevoked: isSignerRevoked, ...row }) => [
      of,
      { ...row, reason: String(row.reason), ...(isSignerRevoked ? { isSignerRevoked } : {}) },
    ]),
  );
}

/** Returns the addresses that each key was used from since a time, with the newest use of each address. */
export async function readAddresses(
  db: Db,
  sinceMs: number,
): Promise<(number: string) => { address: string; at: string }[]> {
  const { keyNumber, address, lastUsedAt } = keyUse;
  const rows = await db
    .select({ key_number: keyNumber, address, at: max(lastUsedAt) })
    .from(keyUse)
    .where(and(gte(lastUsedAt, new Date(sinceMs).toISOString()), ne(address, '')))
    .groupBy(keyNumber, address)
    .orderBy(keyNumber, address);
  return byKey(rows, (row) => ({ address: row.address, at: row.at ?? '' }));
}

function byKey<T, Row extends Record<string, unknown>>(
  rows: readonly Row[],
  toValue: (row: Row) => T,
  group: (number: string) => string = (number) => number,
): (number: string) => T[] {
  const groups = Map.groupBy(rows, (row) => group(String(row.key_number)));
  return (number) => (groups.get(number) ?? []).map(toValue);
}
