import { type CredentialKind, keyKinds, otherKinds, showsExpiry } from '@keywarden/core/wire';
import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { columnsOf, instant, json, time } from '../item.ts';
import {
  contains,
  equals,
  type FilterOf,
  isNumber,
  type List,
  listOf,
  matching,
  type Query,
  type Reader,
  visible,
} from '../list.ts';
import { keyObservationEvents } from '../schema/keys.ts';
import { keyReference, organizationNameOfKey, ownerOfKey } from './reference.ts';
import { creatorState, type InventoryKind, keysAsOf, keysNow, trustedListings } from './source.ts';

const states = z.enum(['active', 'missing', 'gone', 'unknown']).meta({
  description:
    'missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone',
});

/** An API key as every list of ours shows it. Ids are int64, so they are text. */
export const keyItem = z
  .strictObject({
    number: keyReference.shape.number,
    control_plane: z.string(),
    scope: z.string(),
    id: z.string(),
    kind: z.enum(keyKinds),
    name: z.string(),
    organization_id: z.string().nullable(),
    organization_name: z.string().nullable(),
    project_id: z.string().nullable(),
    creator: z.strictObject({ id: z.string(), name: z.string().nullable() }),
    owner: z.string(),
    state: states,
    created_at: instant,
    use: z.enum(['used', 'never', 'unknown']).meta({
      description:
        'unknown: the key may have been used later than last_used_at, because no listing shows it or its record is wrong',
    }),
    last_used_at: instant.nullable(),
    last_used_from: z.string().nullable(),
    first_seen_at: instant,
    last_seen_at: instant.nullable(),
    gone_at: instant.nullable(),
  })
  .meta({ id: 'Key' });

/** A credential other than an API key, as every list of ours shows it. */
export const credentialItem = keyItem
  .extend({
    kind: z.enum(otherKinds).meta({
      description:
        'branch_credential: for the storage, AI gateway and functions of a branch; role: a database role with a password; project_permission: a project shared with an address; project_member: the permissions of a member of the organization in a project; jwks: a key set whose tokens a project trusts',
    }),
    created_at: instant.nullable().meta({ description: 'Null if the control plane does not report it' }),
    branch_id: z.string().nullable(),
    holder: z.string().nullable().meta({ description: 'Who can use the credential, if the control plane reports it' }),
    expires_at: instant.nullable().meta({
      description: 'Null for a branch credential that never expires, and for other kinds, whose expiry is not reported',
    }),
    detail: json.nullable().meta({ description: 'The other fields of its list entry, without secrets' }),
  })
  .meta({ id: 'Credential' });

/** The kinds of credentials that never expire if their record has no expiry. */
const withExpiry = otherKinds.filter(showsExpiry);

/** An API key with the rules that flag it. They are of the newest plan, also with `asOf`. */
export const flaggedKeyItem = keyItem
  .extend({
    rules: z
      .array(z.string())
      .meta({ description: 'The rules that match the key in the newest plan, also with as_of' }),
  })
  .meta({ id: 'FlaggedKey' });

/** The findings of the newest plan about the key `k`. */
const findingsOfKey = sql`keywarden.finding_now f
  where f.plan_id = (select id from keywarden.newest_plan) and f.key_number = k.number`;

/** The filters of keys as they are at a time. */
const filtersAt = (judgedAt: SQL) => {
  const within = (ms: number) => sql`${ms} * interval '1 millisecond'`;
  const isOlder = (ms: number) => sql`k.created_at < ${judgedAt} - ${within(ms)}`;
  const isAge = (ms: number) => sql`k.creation_known and ${isOlder(ms)}`;
  return {
    /** The key's number in the store. */
    number: isNumber('k.number'),
    organizationId: equals('k.organization_id'),
    projectId: equals('k.project_id'),
    kind: (kind: CredentialKind) => sql`k.kind = ${kind}`,
    state: (state: z.output<typeof states>) => sql`k.state = ${state}`,
    /** Keys that exist or may exist: every state but gone. */
    isThere: (only: boolean) => (only ? sql`k.state <> 'gone'` : undefined),
    /** Keys in no access review that was signed since this time, or only with the default decision of a campaign. */
    notReviewedSince: (since: string) => sql`not exists (
      select from keywarden.review_item_now v join keywarden.review w on w.number = v.review_number
      where v.key_number = k.number and v.review_number = any(${intactReviews(since, judgedAt)})
        and v.decided_by is distinct from keywarden.campaign_default(w.campaign_number))`,
    creatorId: equals('k.creator_id'),
    owner: (owner: string) => sql`${ownerOfKey} = ${owner}`,
    rule: (rule: string) => sql`exists (select from ${findingsOfKey} and f.rule = ${rule})`,
    /** Keys whose creator is known to be no longer a member of their organization. */
    creatorLeft: (only: boolean) => (only ? sql`${creatorState(judgedAt)} = 'left'` : undefined),
    /** A part of the name, in any case. */
    text: (text: string) => contains(sql`k.name`, text),
    /** Keys known to be unused for longer than this, or never used and created longer ago; ms. */
    idleMs: (
      ms: number,
    ) => sql`k.use <> 'unknown' and coalesce(k.last_used_at, k.created_at) < ${judgedAt} - ${within(ms)}
      and ${isAge(ms)}`,
    /** Keys that are known to be used, or never used, or neither. */
    use: (use: 'used' | 'never' | 'unknown') => sql`k.use = ${use}`,
    /** Keys known to be created longer ago than this; ms. */
    ageMs: isAge,
    /** Credentials that have expired or expire within this time; ms. */
    expiresWithinMs: (ms: number) => sql`k.expires_at < ${judgedAt} + ${within(ms)}`,
    /** Credentials that do, or are known not to, expire. */
    expires: (expires: boolean) =>
      expires
        ? sql`k.expires_at is not null`
        : sql`k.expires_at is null and k.kind = any(${sql.param(withExpiry)}::text[])`,
    branchId: equals('k.branch_id'),
    holder: equals('k.holder'),
  };
};

/** `asOf`: keys as they were at this time of the control plane; without it, as they are now. */
export type KeyFilter = FilterOf<ReturnType<typeof filtersAt>> & { asOf?: string | undefined };

/** The sort order of keys. The default is the number, which is the order in which they were first seen. */
type KeyOrder = 'number' | 'name' | 'created_at' | 'last_used_at';

interface Shown {
  organizations: string[] | null;
  sort?: KeyOrder | undefined;
  direction?: 'asc' | 'desc' | undefined;
}

/** Lists keys that were ever seen, or that existed at a time. */
export function keyList(filter: KeyFilter, shown: Shown): List<typeof keyItem> {
  return keysOf('keys', filter, shown);
}

/** Lists keys, each with the rules that match it in the newest plan. */
export function flaggedKeyList(filter: KeyFilter, shown: Shown): List<typeof flaggedKeyItem> {
  const list = keyList(filter, shown);
  const rules = sql`(select coalesce(json_agg(f.rule order by f.number), '[]') from ${findingsOfKey})`;
  return { ...list, schema: flaggedKeyItem, item: { ...list.item, rules } };
}

/** Lists credentials other than API keys, in the same way as keys. */
export function credentialList(filter: KeyFilter, shown: Shown): List<typeof credentialItem> {
  const list = keysOf('credentials', filter, shown);
  const { branch_id, holder, expires_at } = columnsOf(credentialItem, 'k');
  const created_at = time(sql`case when ${hasCreation} then k.created_at end`);
  const item = { ...list.item, created_at, branch_id, holder, expires_at, detail: sql`k.extra` };
  return { ...list, schema: credentialItem, item };
}

/** Lists keys or other credentials. */
export function inventoryList(
  of: InventoryKind,
  filter: KeyFilter,
  shown: Shown,
): List<typeof keyItem> | List<typeof credentialItem> {
  return of === 'keys' ? keyList(filter, shown) : credentialList(filter, shown);
}

/** Lists keys, or the fields of other credentials that keys have too. */
function keysOf(of: InventoryKind, filter: KeyFilter, { organizations, sort = 'number', direction = 'asc' }: Shown) {
  const judgedAt = filter.asOf === undefined ? sql`p.at` : sql`${filter.asOf}::timestamptz`;
  return listOf(keyItem, 'k', {
    from: sql`${filter.asOf === undefined ? keysNow(of) : keysAsOf(filter.asOf, of)}
      join keywarden.control_plane c on c.number = k.control_plane_number
      join keywarden.control_plane_now p on p.control_plane_number = k.control_plane_number`,
    item: {
      number: sql`k.number::text`,
      organization_name: organizationNameOfKey,
      control_plane: sql`c.base_url`,
      creator: sql`json_build_object('id', k.creator_id, 'name', k.creator_name)`,
      owner: ownerOfKey,
      last_seen_at: time(sql`(select l.listed_at from ${trustedListings(sql`k`)}
          and l.listed_at < coalesce(k.missing_since, k.gone_at, ${filter.asOf ?? 'infinity'}::timestamptz + interval '1 microsecond')
        order by l.listed_at desc limit 1)`),
    },
    where: [...matching(filtersAt(judgedAt), filter), visible(sql`k.organization_id`, organizations)],
    order: { ...sorted[sort], 'k.number': 'bigint' },
    direction,
  });
}

/** The reviews that were signed in this time and still have the content that was signed. Others reviewed nothing. */
const intactReviews = (since: string, until: SQL) => sql`array(select g.review_number from keywarden.review_signature g
  where g.signed_at >= ${since}::timestamptz and g.signed_at <= ${until}
    and g.content_sha256 = keywarden.review_content_hash(g.review_number))`;

/** Whether the record has a creation time: an early placeholder stands for none. It may be implausible all the same (`creation_known`). */
const hasCreation = sql`k.created_at >= '2000-01-01'`;

/** The sort columns of each order. Keys that were never used come before those that were. */
const sorted: Record<KeyOrder, Query['order']> = {
  number: {},
  // A cursor has what it is sorted by, and a name can have any length.
  name: { 'left(k.name, 100)': 'text' },
  created_at: { 'k.created_at': 'timestamptz' },
  last_used_at: { "coalesce(k.last_used_at, '-infinity')": 'timestamptz' },
};

export const keyObservation = z
  .strictObject({
    seen_at: instant,
    event: z.enum(keyObservationEvents),
    record: json.nullable(),
    run: z.string().nullable(),
  })
  .meta({ id: 'KeyObservation' });

/** Lists a key's observations, oldest first: each version of its record, and when it was missing, gone or back. */
export function keyObservationList(key: string) {
  return listOf(keyObservation, 'o', {
    from: sql`keywarden.key_observation o`,
    item: { run: sql`o.run_number::text` },
    where: [sql`o.key_number = ${key}::bigint`],
    direction: 'asc',
  });
}

export const keyUse = z
  .strictObject({ last_used_at: instant, address: z.string().nullable(), hour: instant })
  .meta({ id: 'KeyUse' });

/** Lists the observed uses of a key, newest first: one item an hour and address. */
export function keyUseList(key: string) {
  return listOf(keyUse, 'u', {
    from: sql`keywarden.key_use u`,
    item: { address: sql`nullif(u.address, '')` },
    where: [sql`u.key_number = ${key}::bigint`],
    order: { 'u.hour': 'timestamptz', 'u.address': 'text' },
    direction: 'desc',
  });
}

/** Returns the first of these numbers that is no key or other credential of these organizations; undefined if there is none. */
export async function findHiddenKey(
  db: Reader,
  numbers: string[],
  organizations: string[] | null,
): Promise<string | undefined> {
  const [row] = await db.execute(sql`
    select wanted::text as number from unnest(${sql.param(numbers)}::bigint[]) wanted where not exists (
      select from keywarden.credential k where k.number = wanted and ${visible(sql`k.organization_id`, organizations)}) limit 1`);
  return row === undefined ? undefined : String(row.number);
}

/** Returns whether a key, or another credential, with this number exists and belongs to these organizations. */
export async function seesKey(
  db: Reader,
  number: string,
  { organizations, of }: { organizations: string[] | null; of: InventoryKind },
): Promise<boolean> {
  const rows = await db.execute(sql`
    select from ${keysNow(of)} where k.number = ${number}::bigint and ${visible(sql`k.organization_id`, organizations)}`);
  return rows.length > 0;
}
