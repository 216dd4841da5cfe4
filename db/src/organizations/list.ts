import { sql } from 'drizzle-orm';
import { type List, time, visible } from '../list.ts';

/** Organizations that were seen. */
export function organizationList(organizations: string[] | null): List {
  return {
    from: sql`keywarden.organization o join keywarden.control_plane c on c.number = o.control_plane_number`,
    item: {
      id: sql`o.id`,
      control_plane: sql`c.base_url`,
      name: sql`o.name`,
      created_at: time(sql`o.created_at`),
      first_seen_at: time(sql`o.first_seen_at`),
      last_seen_at: time(sql`o.last_seen_at`),
    },
    where: [visible(sql`o.id`, organizations)],
    order: [
      { by: sql`o.id`, type: 'text' },
      { by: sql`o.control_plane_number`, type: 'bigint' },
    ],
    direction: 'asc',
  };
}
