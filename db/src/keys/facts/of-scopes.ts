import type { Facts, ScopeFacts } from '@keywarden/core/policy';
import type { OtherKind } from '@keywarden/core/wire';
import { and, asc, count, desc, eq, isNull, ne, notExists } from 'drizzle-orm';
import { mayHaveRevoked } from '../../revocations/revocations.ts';
import { toInstant } from '../../schema/columns.ts';
import { connection } from '../../schema/connections.ts';
import { incident } from '../../schema/incidents.ts';
import { key } from '../../schema/keys.ts';
import { member } from '../../schema/organizations.ts';
import { planApproval } from '../../schema/plans.ts';
import { project } from '../../schema/projects.ts';
import { rejectedRow } from '../../schema/rejected-rows.ts';
import { revocationIntent, revocationOutcome } from '../../schema/revocations.ts';
import { countIf, type Db, hasValues, type Sql } from '../../sql.ts';
import type { Store } from '../../store.ts';
import { scopeKeyOf } from '../listings/listing.ts';
import { readConnections, readOwnKeys, readUnknownOwnKeys } from './own-keys.ts';

export interface FactsRequest {
  /** Returns a control plane's current time by its own Date, in ms; null if it is not known well enough to judge. */
  nowMs: (controlPlane: string) => number | null;
  /** Our own clock, in ms. It never decides that something may be revoked. */
  ourNowMs: number;
  /** The maximum age of evidence, in ms. */
  maxEvidenceAgeMs: number;
  /** The policy in force. */
  policySha256: string;
  /** Channels that must all have accepted a notice. */
  channels: string[];
  /** Facts that only some policies need. */
  addressesSinceMs: number | null;
  needsProjects: boolean;
  /** The kinds of other credentials that rules name. Of all further kinds, only credentials that a review wants revoked are read. */
  otherKinds: OtherKind[];
  /** The configured connections. One that never authenticated has no row, but its own key is in use (R2). */
  configured: { name: string; baseUrl: string; ownKeyId: string | null }[];
  /** Limits the facts to the keys of this scope. */
  scope?: ScopeReference;
}

export interface ScopeReference {
  controlPlane: string;
  /** `user:ID` or `organization:ID`. */
  scope: string;
  /** An intent that counts neither as a revocation of the last day nor as the canary of its scope: the one that is about to be carried out. */
  exceptIntent?: string | undefined;
}

/** Returns the facts of each scope that was ever listed, and the own keys of all connections. */
export async function readScopes(
  { db, sql }: Pick<Store, 'db' | 'sql'>,
  { nowMs, ourNowMs, policySha256, needsProjects, configured, scope: one }: FactsRequest,
): Promise<Pick<Facts, 'scopes' | 'ownKeys'>> {
  const listings = await readListings(sql, one);
  const connections = await readConnections(db, configured);
  const unknownOwnKey = await readUnknownOwnKeys(db, { connections, ourNowMs });
  const automatic = await readAutomatic(db, policySha256, one?.exceptIntent);
  const incidents = await countUsesInFlight(db);
  const unseen = await countUnseenMembers(db);
  const projects = needsProjects ? await readProjects(db) : null;
  const partial = needsProjects ? await readPartial(db) : new Set<string>();
  const scopes = listings.map(({ controlPlane, scope, ...times }): ScopeFacts => {
    const name = scopeKeyOf(controlPlane, scope);
    return {
      scope: name,
      ...times,
      nowMs: nowMs(controlPlane),
      unknownOwnKey: unknownOwnKey(controlPlane, scope),
      automatic: automatic.get(name) ?? [],
      usesInFlight: incidents.get(name) ?? 0,
      unseenMembers: unseen.get(name) ?? (scope.startsWith('organization:') ? null : 0),
      ...(projects === null ? {} : { projects: partial.has(name) ? null : (projects.get(name) ?? []) }),
    };
  });
  return { scopes, ownKeys: await readOwnKeys({ db, sql }, connections) };
}

type Listing = ScopeReference &
  Pick<ScopeFacts, 'listedAt' | 'priorListedAt' | 'hourPriorListedAt' | 'missing' | 'goneLately'>;

/** Returns each scope's last trusted listing, and those before it without a suspect one between, which had ended when it began. */
async function readListings(sql: Sql, one: ScopeReference | undefined): Promise<Listing[]> {
  const lastBefore = (condition: ReturnType<Sql>) => sql`
    select p.listed_at from keywarden.key_listing p
    where p.control_plane_number = l.control_plane_number and p.scope = l.scope and p.number < l.number
      and p.number > coalesce(suspect.number, 0) and p.received_at <= l.begun_at ${condition}
    order by p.number desc limit 1`;
  const rows = await sql`
    with scopes as (
      select distinct control_plane_number, scope from keywarden.connection_scope
      where ${one === undefined} or (control_plane_number = ${one?.controlPlane ?? null}::bigint and scope = ${one?.scope ?? null}::text)
    ), last as (
      select l.* from scopes s cross join lateral (
        select * from keywarden.key_listing l
        where l.control_plane_number = s.control_plane_number and l.scope = s.scope and l.why_suspect is null
        order by l.number desc limit 1) l
    )
    select l.control_plane_number, l.scope, l.listed_at, p.listed_at as prior, h.listed_at as hour_prior, size.missing, size.gone_lately
    -- Each count has its index: one condition for both would read all credentials, those that are long gone too, once for each scope.
    from last l cross join lateral (
      select (select count(*)::int from keywarden.credential k where k.control_plane_number = l.control_plane_number and k.scope = l.scope
          and k.gone_at is null and k.missing_since is not null) as missing,
        (select count(*)::int from keywarden.credential k where k.control_plane_number = l.control_plane_number and k.scope = l.scope
          and k.gone_at > l.listed_at - interval '1 day') as gone_lately) size
    left join lateral (
      select d.number from keywarden.key_listing d
      where d.control_plane_number = l.control_plane_number and d.scope = l.scope and d.why_suspect is not null and d.number < l.number
      order by d.number desc limit 1) suspect on true
    left join lateral (${lastBefore(sql``)}) p on true
    left join lateral (${lastBefore(sql`and p.listed_at <= l.listed_at - interval '1 hour'`)}) h on true
    order by l.control_plane_number, l.scope`;
  const instant = (value: unknown) => (typeof value === 'string' ? toInstant(value) : null);
  return rows.map((row) => ({
    controlPlane: String(row.control_plane_number),
    scope: String(row.scope),
    listedAt: toInstant(String(row.listed_at)),
    priorListedAt: instant(row.prior),
    hourPriorListedAt: instant(row.hour_prior),
    missing: Number(row.missing),
    goneLately: Number(row.gone_lately),
  }));
}

/** Returns when each scope's keys were revoked, or may have been, automatically under a policy, except by one intent. */
async function readAutomatic(db: Db, policySha256: string, exceptIntent?: string): Promise<Map<string, string[]>> {
  const { number, judgedAt, policySha256: policy, approvalNumber, keyNumber } = revocationIntent;
  const isOther = exceptIntent === undefined ? undefined : ne(number, exceptIntent);
  const rows = await db
    .select({ control_plane_number: key.controlPlaneNumber, scope: key.scope, at: judgedAt })
    .from(revocationIntent)
    .innerJoin(planApproval, eq(planApproval.number, approvalNumber))
    .innerJoin(key, eq(key.number, keyNumber))
    .leftJoin(revocationOutcome, eq(revocationOutcome.intentNumber, number))
    .where(and(eq(planApproval.via, 'enforcement'), eq(policy, policySha256), mayHaveRevoked(key), isOther))
    .orderBy(desc(number))
    .limit(10_000);
  return groupByScope(rows, ({ at }) => String(at));
}

async function countUsesInFlight(db: Db): Promise<Map<string, number>> {
  const rows = await db
    .select({ scope: incident.scope, n: count() })
    .from(incident)
    .where(hasValues(incident, { kind: 'used_in_flight', closedAt: null }))
    .groupBy(incident.scope);
  return new Map(rows.map(({ scope, n }) => [scope, n]));
}

/** Counts the members whose personal keys no connection lists, for each organization whose members were ever listed. */
async function countUnseenMembers(db: Db): Promise<Map<string, number>> {
  const { controlPlaneNumber, organizationId, userId, leftAt } = member;
  const isOfMember = hasValues(connection, { controlPlaneNumber, accountId: userId, removedAt: null });
  const own = db.select({ name: connection.name }).from(connection).where(isOfMember);
  const rows = await db
    .select({ controlPlane: controlPlaneNumber, organizationId, n: countIf(and(isNull(leftAt), notExists(own))) })
    .from(member)
    .groupBy(controlPlaneNumber, organizationId);
  return new Map(rows.map((row) => [scopeKeyOf(row.controlPlane, `organization:${row.organizationId}`), row.n]));
}

/** Returns the live projects of each organization. */
async function readProjects(db: Db): Promise<Map<string, { id: string; name: string }[]>> {
  const { id, name, controlPlaneNumber, organizationId } = project;
  const rows = await db
    .select({ id, name, control_plane_number: controlPlaneNumber, organizationId })
    .from(project)
    .where(isNull(project.goneAt))
    .orderBy(asc(id));
  const ofScope = rows.map(({ organizationId: of, ...row }) => ({ ...row, scope: `organization:${of}` }));
  return groupByScope(ofScope, ({ id, name }) => ({ id, name }));
}

/** Returns the scopes of organizations with a project that lists name, but that none has shown as it could be stored. */
async function readPartial(db: Db): Promise<Set<string>> {
  const { controlPlaneNumber, list, place, rowId } = rejectedRow;
  const known = db
    .select({ id: project.id })
    .from(project)
    .where(hasValues(project, { controlPlaneNumber, id: rowId }));
  const rows = await db
    .selectDistinct({ controlPlaneNumber, place })
    .from(rejectedRow)
    .where(and(eq(list, 'projects'), notExists(known)));
  return new Set(rows.map((row) => scopeKeyOf(row.controlPlaneNumber, `organization:${row.place}`)));
}

function groupByScope<T, Row extends Record<string, unknown>>(
  rows: readonly Row[],
  toValue: (row: Row) => T,
): Map<string, T[]> {
  const groups = Map.groupBy(rows, (row) => scopeKeyOf(String(row.control_plane_number), String(row.scope)));
  return new Map([...groups].map(([scope, group]) => [scope, group.map(toValue)]));
}
