import { sql } from 'drizzle-orm';
import { type List, type Reader, time, visible } from '../list.ts';

const spot = sql`json_build_object('kind', b.kind, 'scope', b.scope, 'members', b.members, 'since', ${time(sql`b.since`)})`;

/** Configured control planes with what each connection sees, and what it does not. */
export function connectionList(): List {
  return {
    from: sql`keywarden.connection n join keywarden.control_plane c on c.number = n.control_plane_number`,
    item: {
      name: sql`n.name`,
      control_plane: sql`c.base_url`,
      account_id: sql`n.account_id`,
      auth_method: sql`n.auth_method`,
      own_key_id: sql`n.own_key_id::text`,
      is_sandbox: sql`n.is_sandbox`,
      checked_at: time(sql`n.checked_at`),
      removed_at: time(sql`n.removed_at`),
      scopes: sql`coalesce((select json_agg(json_build_object('scope', s.scope, 'seen_at', ${time(sql`s.seen_at`)}) order by s.scope)
        from keywarden.connection_scope s where s.connection = n.name), '[]')`,
      blind_spots: sql`coalesce((select json_agg(${spot} order by b.scope, b.kind) from keywarden.blind_spot b
        where b.control_plane_number = n.control_plane_number and (b.connection = n.name or b.scope in (
          select s.scope from keywarden.connection_scope s where s.connection = n.name))), '[]')`,
    },
    where: [],
    order: [{ by: sql`n.name`, type: 'text' }],
    direction: 'asc',
  };
}

/** What no connection sees of a scope. */
export interface BlindSpot {
  kind: 'personal_keys' | 'members_unknown' | 'listing_old' | 'own_key_unknown';
  control_plane: string;
  scope: string | null;
  connection: string | null;
  members: number | null;
  since: string | null;
}

/** All blind spots of the organizations that the asker may see. */
export async function listBlindSpots(db: Reader, organizations: string[] | null): Promise<BlindSpot[]> {
  const rows = await db.execute(sql`
    select json_build_object('kind', b.kind, 'control_plane', c.base_url, 'scope', b.scope, 'connection', b.connection,
      'members', b.members, 'since', ${time(sql`b.since`)})::text as item
    from keywarden.blind_spot b join keywarden.control_plane c on c.number = b.control_plane_number
    where ${visible(sql`substring(b.scope from '^organization:(.*)$')`, organizations) ?? sql`true`}
    order by c.base_url, b.scope, b.kind, b.connection`);
  // Postgres wrote it.
  return rows.map((row) => JSON.parse(String(row.item)) as BlindSpot);
}
