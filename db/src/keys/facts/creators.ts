import type { KeyFacts } from '@keywarden/core/policy';
import { toMs } from '@keywarden/core/values';
import { unknownCreator } from '@keywarden/core/wire';
import { toInstant } from '../../schema/columns.ts';
import type { key } from '../../schema/keys.ts';
import { member } from '../../schema/organizations.ts';
import type { Sql } from '../../sql.ts';
import type { Store } from '../../store.ts';
import type { FactsRequest } from './of-scopes.ts';

type Made = Pick<typeof key.$inferSelect, 'controlPlaneNumber' | 'organizationId' | 'creatorId' | 'createdAt'>;

/**
 * Returns whether each creator is still a member. A creator who was absent from two complete listings in a row has left. A creator whom no
 * listing has ever shown has left too, if two trusted listings are younger than the key. The state is unknown if an organization's last
 * trusted listing is older than evidence may be, because a former member may be back.
 */
export async function readCreators(
  { db, sql }: Pick<Store, 'db' | 'sql'>,
  { nowMs, maxEvidenceAgeMs }: Pick<FactsRequest, 'nowMs' | 'maxEvidenceAgeMs'>,
): Promise<(row: Made) => KeyFacts['creator']> {
  const states = new Map<string, KeyFacts['creator']>();
  for (const { controlPlaneNumber, organizationId, userId, leftAt, missingSince } of await db.select().from(member)) {
    const present = missingSince === null ? 'member' : 'unknown';
    states.set(`${controlPlaneNumber}/${organizationId}/${userId}`, leftAt === null ? present : 'left');
  }
  const listings = await readMemberListings(sql);
  return ({ controlPlaneNumber, organizationId, creatorId, createdAt }) => {
    if (creatorId === unknownCreator) return 'unknown';
    const place = `${controlPlaneNumber}/${organizationId}`;
    const { last, second } = listings.get(place) ?? { last: null, second: null };
    const now = nowMs(controlPlaneNumber);
    if (last === null || now === null || now - toMs(last) > maxEvidenceAgeMs) return 'unknown';
    const known = states.get(`${place}/${creatorId}`);
    if (known !== undefined) return known;
    return second !== null && toMs(second) > toMs(createdAt) ? 'left' : 'unknown';
  };
}

/** Returns the last two trusted listings of the members of each organization. */
async function readMemberListings(sql: Sql): Promise<Map<string, { last: string; second: string | null }>> {
  const rows = await sql`
    select o.control_plane_number, o.id, max(l.listed_at) as last, case when count(*) > 1 then min(l.listed_at) end as second
    from keywarden.organization o cross join lateral (
      select listed_at from keywarden.member_listing l
      where l.control_plane_number = o.control_plane_number and l.organization_id = o.id and not l.is_sudden
      order by listed_at desc limit 2) l
    group by 1, 2`;
  return new Map(
    rows.map((row) => {
      const second = row.second === null ? null : toInstant(String(row.second));
      return [`${row.control_plane_number}/${row.id}`, { last: toInstant(String(row.last)), second }];
    }),
  );
}
