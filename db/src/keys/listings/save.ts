import { compareInstants, toMs } from '@keywarden/core/values';
import { unknownCreator, type WireKey } from '@keywarden/core/wire';
import { and, desc, gt } from 'drizzle-orm';
import { holdFence, holdList } from '../../locks.ts';
import { reportUsedInFlight } from '../../revocations/revocations.ts';
import type { JsonObject } from '../../schema/columns.ts';
import { connectionScope } from '../../schema/connections.ts';
import { keyListing } from '../../schema/keys.ts';
import { builderOf, hasValues, lastOfEach, packExtra, type Sql, type Tx, toJson } from '../../sql.ts';
import { isPossible, kindOf, reportChanged, supersede } from './changed-records.ts';
import { isOfKeys, type KeyListing, scopeKeyOf } from './listing.ts';
import { findSuspicion, reportSuspect, type Suspicion } from './suspect.ts';

export interface SavedListing {
  /** Null if a later listing of the scope is already stored. */
  number: string | null;
  /** Its time as it is stored. */
  listedAt: string;
  /** Why absences in it prove nothing; null for a trusted listing. */
  whySuspect: string | null;
  /** True for the first listing, or the first after a suspect one. Inactivity is judged on two listings in a row. */
  isAlone: boolean;
  /** Its keys, each once. */
  keys: KeyListing['keys'];
}

/**
 * The clocks of a control plane's servers differ, and a Date has whole seconds: one response may have an earlier Date than the response before it. In ms; a
 * cache that keeps responses for so long is not noticed either.
 */
const clocksApartMs = 2000;

/**
 * Saves a complete listing of a scope: new, changed and returned keys, their uses, and missing keys. A key is gone after two listings in a
 * row without it (A7). A listing that is suddenly empty or much shorter is suspect, and proves no absence.
 */
export async function saveKeyListing(sql: Sql, given: KeyListing): Promise<SavedListing> {
  const ids = [...given.keys.map(({ id }) => id), ...(given.ended ?? []).map(({ id }) => id)];
  return await sql.begin(async (tx) => {
    await holdFence(tx, given.lease);
    await holdList(tx, scopeKeyOf(given.controlPlane, given.scope));
    const db = builderOf(tx);
    const ofScope = hasValues(keyListing, { controlPlaneNumber: given.controlPlane, scope: given.scope });
    const [latest] = await db
      .select({ listedAt: keyListing.listedAt })
      .from(keyListing)
      .where(and(ofScope, gt(keyListing.listedAt, given.listedAt)))
      .orderBy(desc(keyListing.listedAt))
      .limit(1);
    const isJustBehind = latest !== undefined && toMs(latest.listedAt) - toMs(given.listedAt) <= clocksApartMs;
    const listedAt = isJustBehind ? latest.listedAt : given.listedAt;
    const keys = lastUsedOfEach(given.keys);
    const received = { ...given, listedAt };
    const listing = { ...received, keys };
    if (latest !== undefined && !isJustBehind && listing.stale == null)
      return { number: null, listedAt, whySuspect: null, isAlone: false, keys };
    const suspicion = await findSuspicion(tx, received, ids);
    const whySuspect = suspicion?.why ?? null;
    const [last] = await db
      .select({ whySuspect: keyListing.whySuspect })
      .from(keyListing)
      .where(ofScope)
      .orderBy(desc(keyListing.number))
      .limit(1);
    const number = await insertListing(tx, listing, suspicion);
    if (listing.stale == null) {
      const changed = await supersede(tx, listing);
      await saveKeys(tx, listing);
      // Changes of credentials that Keywarden does not revoke need no person: names of roles are reused.
      if (isOfKeys(listing.scope) || listing.scope.startsWith('branch_credential:'))
        await reportChanged(tx, listing, changed);
      await saveUse(tx, listing);
      await saveEnds(tx, listing);
    }
    if (whySuspect === null) await markAbsent(tx, listing);
    await reportSuspect(tx, listing, whySuspect);
    return {
      number,
      listedAt,
      whySuspect,
      isAlone: whySuspect === null && (last === undefined || last.whySuspect !== null),
      keys,
    };
  });
}

/** Returns, of rows with the same id, the one that was used last. A key in use must not look unused because a list shows it twice. */
function lastUsedOfEach<T extends WireKey>(keys: T[]): T[] {
  const chosen = new Map<string, T>();
  for (const each of keys) {
    const known = chosen.get(each.id);
    if (compareInstants(each.lastUsedAt ?? never, known?.lastUsedAt ?? never) >= 0) chosen.set(each.id, each);
  }
  return [...chosen.values()];
}

const never = '0001-01-01T00:00:00Z';

async function insertListing(tx: Tx, listing: KeyListing, suspicion: Suspicion | null): Promise<string> {
  const { controlPlane: controlPlaneNumber, scope, connection, run, listedAt, begunAt, keys } = listing;
  const db = builderOf(tx);
  const listed = { controlPlaneNumber, scope, connection, listedAt, begunAt };
  const [row] = await db
    .insert(keyListing)
    .values({
      ...listed,
      runNumber: run,
      keyCount: keys.length,
      whySuspect: suspicion?.why,
      isSudden: suspicion?.isSudden,
    })
    .returning({ number: keyListing.number });
  const seen = { controlPlaneNumber, scope, connection, seenAt: listedAt };
  const target = [connectionScope.connection, connectionScope.controlPlaneNumber, connectionScope.scope];
  await db
    .insert(connectionScope)
    .values(seen)
    .onConflictDoUpdate({ target, set: { seenAt: listedAt } });
  return String(row?.number);
}

/** The columns that only credentials other than keys have. */
const otherFields = ['branch_id', 'holder', 'expires_at'];

/** SQL: whether a last use is a day after its listing, which is never true (R1). It is unknown: once stored, it would hide every later use. */
const isUseAhead = (tx: Tx, listedAt: string) =>
  tx`coalesce(last_used_at > ${listedAt}::timestamptz + interval '1 day', false)`;

/** What a list says of a credential besides its id, its creation and its use. */
const described = 'kind project_id name creator_id creator_name extra branch_id holder expires_at'.split(' ');

/** Inserts new rows and updates changed ones. Each change adds an observation with the record as received. */
async function saveKeys(
  tx: Tx,
  { controlPlane, scope, organizationId, run, listedAt, keys }: KeyListing,
): Promise<void> {
  const rows = lastOfEach(keys).map((each) => ({
    id: each.id,
    kind: kindOf(each, organizationId),
    project_id: each.projectId,
    name: each.name,
    creator_id: each.createdBy.id,
    creator_name: each.createdBy.name,
    created_at: each.createdAt,
    last_used_at: each.lastUsedAt,
    last_used_from: each.lastUsedFromAddr,
    ...('kind' in each ? { branch_id: each.branchId, holder: each.holder, expires_at: each.expiresAt } : {}),
    extra: packExtra(each.extra, { created_at: each.createdAt }),
  }));
  const columns = tx.unsafe(described.join(', '));
  const descriptionOf = (row: string) => tx.unsafe(described.map((column) => `${row}.${column}`).join(', '));
  await tx`
    with listed as materialized (
      select * from json_to_recordset(${toJson(rows)}::json) as t(id text, kind text, project_id text, name text,
        creator_id text, creator_name text, created_at timestamptz, last_used_at timestamptz, last_used_from text,
        extra jsonb, branch_id text, holder text, expires_at timestamptz)
    ), before as materialized (
      select k.number, k.id, k.gone_at, ${descriptionOf('k')}
      from keywarden.credential k where k.control_plane_number = ${controlPlane} and k.scope = ${scope} and k.superseded_at is null
    ), incoming as materialized (
      -- A creator who is known stays known where a list does not name one.
      select l.id, l.kind, l.project_id, l.name, l.created_at, l.last_used_at, l.last_used_from, l.extra, l.branch_id,
        l.holder, l.expires_at, case l.creator_id when ${unknownCreator} then coalesce(b.creator_id, l.creator_id) else l.creator_id end as creator_id,
        case l.creator_id when ${unknownCreator} then b.creator_name else l.creator_name end as creator_name
      from listed l left join before b on b.id = l.id
    ), written as (
      insert into keywarden.credential as k (control_plane_number, scope, id, organization_id, ${columns},
        created_at, last_used_at, use_went_back, last_used_from, first_seen_at, present_since)
      select ${controlPlane}::bigint, ${scope}::text, id, ${organizationId}::text, ${columns},
        created_at, case when not ${isUseAhead(tx, listedAt)} then last_used_at end, ${isUseAhead(tx, listedAt)}, last_used_from, ${listedAt}::timestamptz, ${listedAt}::timestamptz
      from incoming
      on conflict (control_plane_number, scope, id) where superseded_at is null do update set (${columns}) = row(${descriptionOf('excluded')}),
        use_went_back = excluded.use_went_back or k.last_used_at is not null and (excluded.last_used_at is null or excluded.last_used_at < date_trunc('second', k.last_used_at)),
        last_used_at = greatest(k.last_used_at, excluded.last_used_at),
        last_used_from = case when excluded.last_used_at >= k.last_used_at or k.last_used_at is null
          then excluded.last_used_from else k.last_used_from end,
        created_at = case when ${isPossible(tx, 'k')} then k.created_at else excluded.created_at end,
        present_since = case when k.missing_since is null and k.gone_at is null then k.present_since else excluded.present_since end,
        missing_since = null, gone_at = null
      where (${descriptionOf('k')}, k.last_used_at, k.last_used_from)
          is distinct from (${descriptionOf('excluded')}, excluded.last_used_at, excluded.last_used_from)
        or not ${isPossible(tx, 'k')} and k.created_at <> excluded.created_at or k.use_went_back or excluded.use_went_back or k.missing_since is not null or k.gone_at is not null
      returning k.number, k.id
    )
    insert into keywarden.key_observation (key_number, run_number, seen_at, event, record)
    select w.number, ${run}::bigint, ${listedAt}::timestamptz,
      case when b.number is null then 'first_seen' when b.gone_at is not null then 'back' else 'changed' end, to_jsonb(i) - ${isOfKeys(scope) ? otherFields : []}::text[]
    from written w join incoming i on i.id = w.id left join before b on b.id = w.id
    where b.number is null or b.gone_at is not null
      or (${descriptionOf('b')}) is distinct from (${descriptionOf('i')})`;
}

async function saveUse(tx: Tx, { controlPlane, scope, keys }: KeyListing): Promise<void> {
  const used = keys.filter((each) => each.lastUsedAt !== null).map((each) => each.id);
  await tx`
    insert into keywarden.key_use (key_number, hour, address, first_used_at, last_used_at)
    select number, date_trunc('hour', last_used_at), coalesce(last_used_from, ''), last_used_at, last_used_at from keywarden.credential
    where control_plane_number = ${controlPlane} and scope = ${scope} and id = any(${used}) and not use_went_back
      and superseded_at is null and last_used_at is not null
    on conflict (key_number, hour, address) do update set last_used_at = excluded.last_used_at
    where key_use.last_used_at < excluded.last_used_at`;
}

/**
 * Saves the last use of keys that the list shows as revoked. With an open intent, a use later than the last listing showed was in flight
 * (R5): the intent was judged on that listing. More digits of the same time are no other use.
 */
async function saveEnds(tx: Tx, { controlPlane, scope, listedAt, ended = [] }: KeyListing): Promise<void> {
  const rows = toJson(
    ended.map(({ id, lastUsedAt, revokedAt }) => ({ id, last_used_at: lastUsedAt, revoked_at: revokedAt })),
  );
  const uses = await tx<{ intent: string; detail: JsonObject }[]>`
    with ended as materialized (
      select *, ${isUseAhead(tx, listedAt)} as is_ahead from json_to_recordset(${rows}::json) as t(id text, last_used_at timestamptz, revoked_at timestamptz)
    ), used as (
      update keywarden.credential k set last_used_at = case when e.is_ahead then k.last_used_at else e.last_used_at end from ended e
      where k.control_plane_number = ${controlPlane} and k.scope = ${scope} and k.id = e.id and k.superseded_at is null and k.gone_at is null
        and date_trunc('second', e.last_used_at) > coalesce(k.last_used_at, '-infinity')
      returning k.number, e.last_used_at, e.revoked_at
    )
    select i.number::text as intent, jsonb_build_object('last_used_at', u.last_used_at, 'revoked_at', u.revoked_at, 'by', 'listing') as detail
    from used u join keywarden.revocation_intent i on i.key_number = u.number
      left join keywarden.revocation_outcome o on o.intent_number = i.number
    where o.intent_number is null`;
  if (uses.length > 0) await reportUsedInFlight(tx, uses);
}

async function markAbsent(tx: Tx, { controlPlane, scope, run, listedAt, keys }: KeyListing): Promise<void> {
  await tx`
    with absent as (
      update keywarden.credential set missing_since = coalesce(missing_since, ${listedAt}::timestamptz),
        gone_at = case when missing_since is null then null else ${listedAt}::timestamptz end
      where control_plane_number = ${controlPlane} and scope = ${scope} and gone_at is null
        and not (id = any(${keys.map((each) => each.id)}))
      returning number, gone_at
    )
    insert into keywarden.key_observation (key_number, run_number, seen_at, event)
    select number, ${run}::bigint, ${listedAt}::timestamptz, case when gone_at is null then 'missing' else 'gone' end from absent`;
}
