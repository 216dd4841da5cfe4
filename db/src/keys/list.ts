import { type CredentialKind, keyKinds, otherKinds } from '@keywarden/core/wire';
import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { columnsOf, type Fields, instant, json, time } from '../item.ts';
import { contains, type List, type Query, type Reader, visible, when } from '../list.ts';
import { keyObservationEvents } from '../schema/keys.ts';
import { keyReference } from './reference.ts';
import { type Inventoried, keysAsOf, keysNow } from './source.ts';

const states = z.enum(['active', 'missing', 'gone', 'unknown']).meta({
  description: 'missing: one listing lacks it, two say gone. unknown: at that past time it may have been gone',
});

/** A key as every list of ours shows it. Ids are int64, so they are text. */
export const keyItem = z
  .strictObject({
    number: keyReference.shape.number,
    control_plane: z.string(),
    scope: z.string(),
    id: z.string(),
    kind: z.enum(keyKinds),
    name: z.string(),
    organization_id: z.string().nullable(),
    project_id: z.string().nullable(),
    creator: z.strictObject({ id: z.string(), name: z.string().nullable() }),
    owner: z.string(),
    state: states,
    created_at: instant,
    last_used_at: instant.nullable(),
    last_used_from: z.string().nullable(),
    first_seen_at: instant,
    last_seen_at: instant.nullable(),
    gone_at: instant.nullable(),
  })
  .meta({ id: 'Key' });

/** What else than an API key lets somebody in, as every list of ours shows it. */
export const credentialItem = keyItem
  .extend({
    kind: z.enum(otherKinds).meta({
      description:
        'branch_credential: for the storage, AI gateway and functions of a branch; role: a database role with a password; project_permission: a project shared with an address; project_member: who of the organization may do what in a project; jwks: a key set whose tokens a project believes',
    }),
    created_at: instant.nullable().meta({ description: 'Null where upstream does not say it' }),
    branch_id: z.string().nullable(),
    holder: z.string().nullable().meta({ description: 'Who may get in by it, where upstream says' }),
    expires_at: instant.nullable(),
    detail: json.nullable().meta({ description: 'What else its list says; no secret' }),
  })
  .meta({ id: 'Credential' });

export interface KeyFilter {
  /** The store's own number of a key. */
  number?: string | undefined;
  organizationId?: string | undefined;
  projectId?: string | undefined;
  kind?: CredentialKind | undefined;
  state?: z.output<typeof states> | undefined;
  /** There, or perhaps: of every state but gone. */
  isThere?: boolean | undefined;
  /** In no access review that was signed since this time. */
  notReviewedSince?: string | undefined;
  creatorId?: string | undefined;
  owner?: string | undefined;
  /** Part of a name, whatever its case. */
  text?: string | undefined;
  /** Not used for longer than this, or never used and created longer ago; ms. */
  idleMs?: number | undefined;
  /** Its creator is no member of its organization any more. */
  creatorLeft?: boolean | undefined;
  /** Created longer ago than this; ms. */
  ageMs?: number | undefined;
  /** Of credentials: expires before so long has passed, or has expired; ms. */
  expiresWithinMs?: number | undefined;
  /** Of credentials: whether it expires at all. */
  expires?: boolean | undefined;
  branchId?: string | undefined;
  holder?: string | undefined;
  /** As they were at this time of the control plane's; now without it. */
  asOf?: string | undefined;
}

/** What keys are sorted by; the number of their first sight where nothing is said. */
export type KeyOrder = 'number' | 'name' | 'created_at' | 'last_used_at';

interface Shown {
  organizations: string[] | null;
  sort?: KeyOrder | undefined;
  direction?: 'asc' | 'desc' | undefined;
}

/** Keys that were ever seen, or that there were at a time. */
export function keyList(filter: KeyFilter, shown: Shown): List<typeof keyItem> {
  const { item, ...query } = inventoryQuery(filter, shown, 'keys');
  return { schema: keyItem, item, ...query };
}

/** Credentials that are no API keys, as keys are listed. */
export function credentialList(filter: KeyFilter, shown: Shown): List<typeof credentialItem> {
  const { item, ...query } = inventoryQuery(filter, shown, 'credentials');
  const { branch_id, holder, expires_at } = columnsOf(credentialItem, 'k');
  const created_at = time(sql`case when ${isCreationKnown} then k.created_at end`);
  return {
    schema: credentialItem,
    item: { ...item, created_at, branch_id, holder, expires_at, detail: sql`k.extra` },
    ...query,
  };
}

/** Either of them. */
export function inventoryList(
  of: Inventoried,
  filter: KeyFilter,
  shown: Shown,
): List<typeof keyItem> | List<typeof credentialItem> {
  return of === 'keys' ? keyList(filter, shown) : credentialList(filter, shown);
}

function inventoryQuery(
  filter: KeyFilter,
  { organizations, sort = 'number', direction = 'asc' }: Shown,
  of: Inventoried,
): Omit<Query, 'item'> & { item: Fields<typeof keyItem> } {
  const present = filter.asOf === undefined ? sql`p.at` : sql`${filter.asOf}::timestamptz`;
  const longerAgo = (since: SQL) => (ms: number) => sql`${since} < ${present} - ${ms} * interval '1 millisecond'`;
  return {
    from: sql`${filter.asOf === undefined ? keysNow(of) : keysAsOf(filter.asOf, of)}
      join keywarden.control_plane c on c.number = k.control_plane_number
      join keywarden.control_plane_now p on p.control_plane_number = k.control_plane_number
      join keywarden.key_owner_now w on w.key_number = k.number`,
    item: {
      ...columnsOf(keyItem, 'k'),
      number: sql`k.number::text`,
      control_plane: sql`c.base_url`,
      creator: sql`json_build_object('id', k.creator_id, 'name', k.creator_name)`,
      owner: sql`w.owner`,
      last_seen_at: time(sql`(select l.listed_at from keywarden.key_listing l
        where l.control_plane_number = k.control_plane_number and l.scope = k.scope and l.doubt is null
          and l.listed_at < coalesce(k.missing_since, k.gone_at, ${filter.asOf ?? 'infinity'}::timestamptz + interval '1 microsecond')
        order by l.listed_at desc limit 1)`),
    },
    where: [
      when(filter.number, (number) => sql`k.number = ${number}::bigint`),
      when(filter.organizationId, (id) => sql`k.organization_id = ${id}`),
      when(filter.projectId, (id) => sql`k.project_id = ${id}`),
      when(filter.kind, (kind) => sql`k.kind = ${kind}`),
      when(filter.state, (state) => sql`k.state = ${state}`),
      filter.isThere ? sql`k.state <> 'gone'` : undefined,
      when(
        filter.notReviewedSince,
        (
          since,
        ) => sql`not exists (select from keywarden.review_item v join keywarden.review_signature s on s.review_number = v.review_number
          where v.key_number = k.number and s.signed_at >= ${since}::timestamptz and s.signed_at <= ${present})`,
      ),
      when(filter.creatorId, (id) => sql`k.creator_id = ${id}`),
      when(filter.owner, (owner) => sql`w.owner = ${owner}`),
      filter.creatorLeft
        ? sql`exists (select from keywarden.member m where m.control_plane_number = k.control_plane_number
            and m.organization_id = k.organization_id and m.user_id = k.creator_id and m.left_at <= ${present})`
        : undefined,
      when(filter.text, (text) => contains(sql`k.name`, text)),
      when(filter.idleMs, longerAgo(sql`coalesce(k.last_used_at, k.created_at)`)),
      filter.idleMs === undefined ? undefined : hasUse,
      when(filter.ageMs, longerAgo(sql`k.created_at`)),
      filter.ageMs === undefined || of === 'keys' ? undefined : isCreationKnown,
      when(filter.expiresWithinMs, (ms) => sql`k.expires_at < ${present} + ${ms} * interval '1 millisecond'`),
      when(filter.expires, (expires) => (expires ? sql`k.expires_at is not null` : sql`k.expires_at is null`)),
      when(filter.branchId, (id) => sql`k.branch_id = ${id}`),
      when(filter.holder, (holder) => sql`k.holder = ${holder}`),
      visible(sql`k.organization_id`, organizations),
    ],
    order: [...sorted[sort], { by: sql`k.number`, type: 'bigint' }],
    direction,
  };
}

/** What no upstream says of a credential is not its age. */
const isCreationKnown = sql`k.created_at >= '2000-01-01'`;

/** Of other kinds nothing says when they were used. */
const hasUse = sql`k.kind in ('personal', 'organization', 'project', 'branch_credential')`;

/** Keys that were never used stand before those that were. */
const sorted: Record<KeyOrder, Query['order']> = {
  number: [],
  name: [{ by: sql`k.name`, type: 'text' }],
  created_at: [{ by: sql`k.created_at`, type: 'timestamptz' }],
  last_used_at: [{ by: sql`coalesce(k.last_used_at, '-infinity')`, type: 'timestamptz' }],
};

export const keyObservation = z
  .strictObject({
    seen_at: instant,
    event: z.enum(keyObservationEvents),
    record: json.nullable(),
    run: z.string().nullable(),
  })
  .meta({ id: 'KeyObservation' });

/** What was seen of a key, oldest first: each version of its record, and when it was missing, gone or back. */
export function keyObservationList(key: string): List<typeof keyObservation> {
  return {
    schema: keyObservation,
    from: sql`keywarden.key_observation o`,
    item: { ...columnsOf(keyObservation, 'o'), run: sql`o.run_number::text` },
    where: [sql`o.key_number = ${key}::bigint`],
    order: [{ by: sql`o.number`, type: 'bigint' }],
    direction: 'asc',
  };
}

export const keyUse = z
  .strictObject({ last_used_at: instant, address: z.string().nullable(), hour: instant })
  .meta({ id: 'KeyUse' });

/** The use of a key that was seen, newest first: one item an hour and address. */
export function keyUseList(key: string): List<typeof keyUse> {
  return {
    schema: keyUse,
    from: sql`keywarden.key_use u`,
    item: { ...columnsOf(keyUse, 'u'), address: sql`nullif(u.address, '')` },
    where: [sql`u.key_number = ${key}::bigint`],
    order: [
      { by: sql`u.hour`, type: 'timestamptz' },
      { by: sql`u.address`, type: 'text' },
    ],
    direction: 'desc',
  };
}

/** Whether a key or another credential (of those one alone where `of` says which) of this number is there for who may see these organizations. */
export async function seesKey(
  db: Reader,
  number: string,
  { organizations, of }: { organizations: string[] | null; of?: Inventoried },
): Promise<boolean> {
  const rows =
    await db.execute(sql`select from ${of === undefined ? sql`keywarden.credential k` : keysNow(of)} where k.number = ${number}::bigint
    and ${visible(sql`k.organization_id`, organizations) ?? sql`true`}`);
  return rows.length > 0;
}
