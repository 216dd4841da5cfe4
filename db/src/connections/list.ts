import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant, jsonOf, time } from '../item.ts';
import { listOf, type Reader, visible } from '../list.ts';

/** A part of a scope that no connection sees. */
const blindSpot = z.strictObject({
  kind: z.enum(['personal_keys', 'members_unknown', 'listing_old', 'never_listed', 'own_key_unknown']),
  scope: z.string().nullable(),
  members: z.int().nullable(),
  since: instant.nullable(),
});

const scope = z.strictObject({ scope: z.string(), seen_at: instant });

export const connectionItem = z
  .strictObject({
    name: z.string(),
    control_plane: z.string(),
    account_id: z.string(),
    auth_method: z.string(),
    own_key_id: z.string().nullable(),
    is_sandbox: z.boolean(),
    checked_at: instant,
    removed_at: instant.nullable(),
    scopes: z.array(scope),
    blind_spots: z.array(blindSpot),
  })
  .meta({ id: 'Connection' });

/** Lists the configured control planes, each with what its connections see and do not see. */
export function connectionList() {
  return listOf(connectionItem, 'n', {
    from: sql`keywarden.connection n join keywarden.control_plane c on c.number = n.control_plane_number`,
    item: {
      control_plane: sql`c.base_url`,
      scopes: sql`coalesce((select json_agg(${jsonOf(scope, 's')} order by s.scope)
        from keywarden.connection_scope s where s.connection = n.name), '[]')`,
      blind_spots: sql`coalesce((select json_agg(${jsonOf(blindSpot, 'b')} order by b.scope, b.kind) from keywarden.blind_spot b
        where b.control_plane_number = n.control_plane_number and (b.connection = n.name or b.kind = 'never_listed' or b.scope in (
          select s.scope from keywarden.connection_scope s where s.connection = n.name))), '[]')`,
    },
    order: { 'n.name': 'text' },
    direction: 'asc',
  });
}

/** Returns whether connections use all of these keys, by their numbers. Such a key has a sink of its own: the file of its connection. */
export async function areOwnKeys(db: Reader, numbers: string[]): Promise<boolean> {
  const rows = await db.execute(sql`
    select from keywarden.key k where k.number = any(${sql.param(numbers)}::bigint[]) and not exists (
      select from keywarden.connection n where n.control_plane_number = k.control_plane_number and n.own_key_id = k.id) limit 1`);
  return rows.length === 0;
}

/** Lists all blind spots of the organizations visible to the caller, as JSON objects. */
export async function listBlindSpots(db: Reader, organizations: string[] | null): Promise<object[]> {
  const rows = await db.execute(sql`
    select json_build_object('kind', b.kind, 'control_plane', c.base_url, 'scope', b.scope, 'connection', b.connection,
      'members', b.members, 'since', ${time(sql`b.since`)})::text as item
    from keywarden.blind_spot b join keywarden.control_plane c on c.number = b.control_plane_number
    where ${visible(sql`substring(b.scope from '^organization:(.*)$')`, organizations)}
    order by c.base_url, b.scope, b.kind, b.connection`);
  // Postgres wrote this JSON.
  return rows.map((row) => JSON.parse(String(row.item)) as object);
}
