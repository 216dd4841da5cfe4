import type { CredentialKind } from '@keywarden/core/wire';
import { type SQL, sql } from 'drizzle-orm';
import { contains, type List, type Reader, time, visible, when } from '../list.ts';
import { type Inventoried, keysAsOf, keysNow } from './source.ts';

export interface KeyFilter {
  /** The store's own number of a key. */
  number?: string | undefined;
  organizationId?: string | undefined;
  projectId?: string | undefined;
  kind?: CredentialKind | undefined;
  state?: 'active' | 'missing' | 'gone' | 'unknown' | undefined;
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

/** Keys that were ever seen, or that there were at a time; or the other credentials, which have some fields more. */
export function keyList(
  filter: KeyFilter,
  {
    organizations,
    sort = 'number',
    direction = 'asc',
    of = 'keys',
  }: { organizations: string[] | null; sort?: KeyOrder; direction?: 'asc' | 'desc'; of?: Inventoried },
): List {
  const present = filter.asOf === undefined ? sql`p.at` : sql`${filter.asOf}::timestamptz`;
  const longerAgo = (since: SQL) => (ms: number) => sql`${since} < ${present} - ${ms} * interval '1 millisecond'`;
  return {
    from: sql`${filter.asOf === undefined ? keysNow(of) : keysAsOf(filter.asOf, of)}
      join keywarden.control_plane c on c.number = k.control_plane_number
      join keywarden.control_plane_present p on p.control_plane_number = k.control_plane_number
      join keywarden.key_owner_now w on w.key_number = k.number`,
    item: {
      number: sql`k.number::text`,
      control_plane: sql`c.base_url`,
      scope: sql`k.scope`,
      id: sql`k.id`,
      kind: sql`k.kind`,
      name: sql`k.name`,
      organization_id: sql`k.organization_id`,
      project_id: sql`k.project_id`,
      creator: sql`json_build_object('id', k.creator_id, 'name', k.creator_name)`,
      owner: sql`w.owner`,
      state: sql`k.state`,
      created_at:
        of === 'keys' ? time(sql`k.created_at`) : time(sql`case when ${isCreationKnown} then k.created_at end`),
      last_used_at: time(sql`k.last_used_at`),
      last_used_from: sql`k.last_used_from`,
      first_seen_at: time(sql`k.first_seen_at`),
      last_seen_at: time(sql`(select l.listed_at from keywarden.key_listing l
        where l.control_plane_number = k.control_plane_number and l.scope = k.scope and l.doubt is null
          and l.listed_at < coalesce(k.missing_since, k.gone_at, ${filter.asOf ?? 'infinity'}::timestamptz + interval '1 microsecond')
        order by l.listed_at desc limit 1)`),
      gone_at: time(sql`k.gone_at`),
      ...(of === 'keys' ? {} : otherFields),
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

/** Fields that credentials have and keys do not. */
const otherFields = {
  branch_id: sql`k.branch_id`,
  holder: sql`k.holder`,
  expires_at: time(sql`k.expires_at`),
  detail: sql`k.extra`,
};

/** Keys that were never used stand before those that were. */
const sorted: Record<KeyOrder, List['order']> = {
  number: [],
  name: [{ by: sql`k.name`, type: 'text' }],
  created_at: [{ by: sql`k.created_at`, type: 'timestamptz' }],
  last_used_at: [{ by: sql`coalesce(k.last_used_at, '-infinity')`, type: 'timestamptz' }],
};

/** What was seen of a key, oldest first: each version of its record, and when it was missing, gone or back. */
export function keyObservationList(key: string): List {
  return {
    from: sql`keywarden.key_observation o`,
    item: {
      seen_at: time(sql`o.seen_at`),
      event: sql`o.event`,
      record: sql`o.record`,
      run: sql`o.run_number::text`,
    },
    where: [sql`o.key_number = ${key}::bigint`],
    order: [{ by: sql`o.number`, type: 'bigint' }],
    direction: 'asc',
  };
}

/** The use of a key that was seen, newest first: one item an hour and address. */
export function keyUseList(key: string): List {
  return {
    from: sql`keywarden.key_use u`,
    item: {
      last_used_at: time(sql`u.last_used_at`),
      address: sql`nullif(u.address, '')`,
      hour: time(sql`u.hour`),
    },
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
