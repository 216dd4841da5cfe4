import { and, eq, isNotNull, isNull, sql as raw, type SQL } from 'drizzle-orm';
import { mostLag, scopeKeyOf } from '../keys/listings/listing.ts';
import { holdList, type Lease, withFence } from '../locks.ts';
import type { JsonObject } from '../schema/columns.ts';
import { credential, type key, keyListing } from '../schema/keys.ts';
import { revocationIntent, revocationOutcome } from '../schema/revocations.ts';
import { anyOf, builderOf, type Db, type Sql, type Tx, toJson } from '../sql.ts';

/** The cause of a revocation: an approved plan, or the key's rotation. */
export type RevocationCause = { planId: string; approval: string } | { rotation: string };

export interface NewIntent {
  cause: RevocationCause;
  key: string;
  connection: string;
  /** The listing on which the key was just judged. */
  listing: string;
  /** The control plane's time at that moment, and the policy. */
  judgedAt: string;
  policySha256: string;
  /** The lease of the key's scope. No intent is written if another process has taken the lock since. */
  lease: Lease | undefined;
}

/**
 * Commits the intent to revoke a key, before the call (R4). Returns undefined if another attempt is open or the key is gone. Also returns
 * undefined if the key's id is or may be another key's, or while revoking is paused (R7). One statement counts and takes the next attempt's
 * number, so that only one of two callers gets it.
 */
export async function beginRevocation(sql: Sql, intent: NewIntent): Promise<string | undefined> {
  const { cause } = intent;
  const { planId = null, approval = null } = 'planId' in cause ? cause : {};
  const rotation = 'rotation' in cause ? cause.rotation : null;
  const rows = await sql`
    ${withFence(sql, intent.lease)}
    insert into keywarden.revocation_intent (plan_id, approval_number, rotation_number, key_number, attempt, connection,
      last_listing_number, judged_at, policy_sha256)
    select ${planId}, ${approval}::bigint, ${rotation}::bigint, ${intent.key}, count(i.number) + 1, ${intent.connection},
      ${intent.listing}::bigint, ${intent.judgedAt}::timestamptz, ${intent.policySha256}
    from keywarden.revocation_intent i
    left join keywarden.revocation_outcome o on o.intent_number = i.number
    where i.key_number = ${intent.key}
    having (select count(*) from held) >= 0 and not exists (select from keywarden.pause where resumed_at is null)
      and exists (select from keywarden.credential q where q.number = ${intent.key} and q.gone_at is null and q.superseded_at is null and not exists (
        select from keywarden.incident c where c.key_number = q.number and c.kind = 'key_changed' and c.closed_at is null))
      and count(*) filter (where o.outcome is null) = 0
    on conflict (key_number, attempt) do nothing
    returning number`;
  return rows[0] === undefined ? undefined : String(rows[0].number);
}

/** Returns whether the store has an intent. It lacks a committed one only if it is now an older store. */
export async function hasIntent(db: Db, intent: string): Promise<boolean> {
  return (await db.$count(revocationIntent, eq(revocationIntent.number, intent))) > 0;
}

/**
 * Returns the condition that an intent for a key, joined with its outcome if there is one, may have revoked the key. A refused call counts too, because
 * its answer may be wrong. It stops counting once two listings that no replica's lag explains still show the key.
 */
export function mayHaveRevoked(of: typeof credential | typeof key): SQL {
  const { lastListingNumber, createdAt, judgedAt } = revocationIntent;
  const { outcome } = revocationOutcome;
  const isLater = raw`${keyListing.number} > ${lastListingNumber} and ${keyListing.begunAt} > ${createdAt} + ${mostLag}::interval
    and ${keyListing.listedAt} > coalesce(${judgedAt}, '-infinity') + ${mostLag}::interval`;
  return raw`(${outcome} is null or ${outcome} in ('revoked', 'gone')
    or ${outcome} = 'failed' and (${of.goneAt} is not null or ${of.missingSince} is not null or (
      select count(*) from (
        select from ${keyListing} where ${keyListing.controlPlaneNumber} = ${of.controlPlaneNumber} and ${keyListing.scope} = ${of.scope}
          and ${keyListing.whySuspect} is null and ${isLater} limit 2) later) < 2))`;
}

export type Outcome = 'revoked' | 'gone' | 'not_revoked' | 'failed';

/**
 * Commits the outcome of an intent. A key that we revoked is gone at once. One that was used in flight opens an incident (R5). An outcome that the intent has
 * already stays: another process may have ended it during the call, because the key's project is gone or because this one has lost its lock.
 */
export async function recordOutcome(
  sql: Sql,
  intent: string,
  {
    outcome,
    usedInFlight = false,
    at,
    detail = null,
  }: { outcome: Outcome; usedInFlight?: boolean; at: string | null; detail?: Record<string, unknown> | null },
): Promise<void> {
  await sql.begin(async (tx) => {
    // A list that another process saves may show the same use.
    for (const { list } of await tx`
      select k.control_plane_number || '/' || k.scope as list
      from keywarden.revocation_intent i join keywarden.credential k on k.number = i.key_number where i.number = ${intent}`)
      await holdList(tx, list);
    const ended = { intentNumber: intent, outcome, usedInFlight, detail };
    const { count } = await builderOf(tx).insert(revocationOutcome).values(ended).onConflictDoNothing();
    if (usedInFlight) await reportUsedInFlight(tx, [{ intent, detail: detail ?? {} }]);
    if (outcome !== 'revoked' || count === 0) return;
    await tx`
      with revoked as (
        update keywarden.credential set gone_at = coalesce(${at}::timestamptz, now())
        where number = (select key_number from keywarden.revocation_intent where number = ${intent}) returning number, gone_at
      )
      insert into keywarden.key_observation (key_number, seen_at, event) select number, gone_at, 'revoked' from revoked`;
  });
}

/** Opens an incident for each intent whose key was used in flight (R5), one an intent. The caller holds the lists of the keys' scopes. */
export async function reportUsedInFlight(tx: Tx, uses: { intent: string; detail: JsonObject }[]): Promise<void> {
  await tx`
    insert into keywarden.incident (kind, key_number, intent_number, detail, scope)
    select 'used_in_flight', i.key_number, i.number, u.detail, k.control_plane_number || '/' || k.scope
    from json_to_recordset(${toJson(uses)}::json) as u(intent bigint, detail jsonb)
      join keywarden.revocation_intent i on i.number = u.intent
      join keywarden.credential k on k.number = i.key_number
    where not exists (select from keywarden.incident c where c.intent_number = i.number and c.kind = 'used_in_flight')`;
}

/**
 * Ends the intents that a crash or a lost response left open, using the listings made since. A key that two listings in a row lack is gone, and not known to
 * be revoked by us (R4). A key that two listings still show was not revoked, if both began so long after the intent that no replica lags behind it. The clocks
 * of the database and of the control plane must both show that, because one of them may have been changed in between. A key that was
 * revoked and that two listings show much later opens an incident: the control plane's answer was false, or has become so. Call it after each save of a listing.
 */
export async function reconcileIntents(
  sql: Sql,
  { controlPlane, scope }: { controlPlane: string; scope: string },
): Promise<void> {
  await sql.begin(async (tx) => {
    // Another process may have taken the lock of the scope meanwhile, and would open the same incidents.
    await holdList(tx, scopeKeyOf(controlPlane, scope));
    await tx`
      insert into keywarden.revocation_outcome (intent_number, outcome, detail)
      select i.number, case when k.gone_at is null then 'not_revoked' else 'gone' end, '{"by": "listing"}'
      from keywarden.revocation_intent i
      join keywarden.credential k on k.number = i.key_number
      left join keywarden.revocation_outcome o on o.intent_number = i.number
      where o.intent_number is null and k.control_plane_number = ${controlPlane} and k.scope = ${scope}
        and (k.gone_at is not null or k.missing_since is null and 1 < (
          select count(*) from keywarden.key_listing l
          where l.control_plane_number = ${controlPlane} and l.scope = ${scope} and l.number > i.last_listing_number
            and l.why_suspect is null and l.begun_at > i.created_at + ${mostLag}::interval
            and l.listed_at > coalesce(i.judged_at, '-infinity') + ${mostLag}::interval))
      on conflict (intent_number) do nothing`;
    await reportUndone(tx, { controlPlane, scope });
  });
}

/**
 * Opens an incident for each key whose newest attempt revoked it, or found it gone, and that two listings in a row show although they began after every
 * replica knew. An attempt has one incident, and a key one that is open.
 */
async function reportUndone(tx: Tx, { controlPlane, scope }: { controlPlane: string; scope: string }): Promise<void> {
  await tx`
    insert into keywarden.incident (kind, key_number, intent_number, detail, scope)
    select 'revocation_undone', k.number, i.number, jsonb_build_object('revoked_at', o.at, 'listed_at', shown.last), k.control_plane_number || '/' || k.scope
    from keywarden.revocation_outcome o
    join keywarden.revocation_intent i on i.number = o.intent_number
    join keywarden.credential k on k.number = i.key_number
    cross join lateral (
      select count(*) as listings, max(l.listed_at) as last from keywarden.key_listing l
      where l.control_plane_number = k.control_plane_number and l.scope = k.scope and l.why_suspect is null
        and l.listed_at >= k.present_since and l.begun_at > o.at + ${mostLag}::interval
        and l.listed_at > coalesce(i.judged_at, '-infinity') + ${mostLag}::interval) shown
    where k.control_plane_number = ${controlPlane} and k.scope = ${scope} and k.gone_at is null and k.missing_since is null and k.superseded_at is null
      and o.outcome in ('revoked', 'gone') and shown.listings > 1
      and not exists (select from keywarden.revocation_intent later where later.key_number = k.number and later.attempt > i.attempt)
      and not exists (
        select from keywarden.incident c where c.kind = 'revocation_undone' and c.key_number = k.number
          and (c.closed_at is null or c.intent_number = i.number))`;
}

/** Returns those of these keys that are gone, for any reason. */
export async function listGoneKeys(db: Db, keys: string[]): Promise<Set<string>> {
  const { number, goneAt } = credential;
  const rows = await db
    .select({ number })
    .from(credential)
    .where(and(anyOf(number, keys), isNotNull(goneAt)));
  return new Set(rows.map((row) => row.number));
}

/** Lists the scopes in which an intent has no outcome yet. */
export async function listUnsettledScopes(db: Db): Promise<{ controlPlane: string; scope: string }[]> {
  const { controlPlaneNumber: controlPlane, scope } = credential;
  return await db
    .selectDistinct({ controlPlane, scope })
    .from(revocationIntent)
    .innerJoin(credential, eq(credential.number, revocationIntent.keyNumber))
    .leftJoin(revocationOutcome, eq(revocationOutcome.intentNumber, revocationIntent.number))
    .where(isNull(revocationOutcome.intentNumber))
    .orderBy(controlPlane, scope);
}
