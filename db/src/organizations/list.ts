import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant } from '../item.ts';
import { listOf, visible } from '../list.ts';

export const organizationItem = z
  .strictObject({
    id: z.string(),
    control_plane: z.string(),
    name: z.string(),
    created_at: instant,
    first_seen_at: instant,
    last_seen_at: instant,
  })
  .meta({ id: 'Organization' });

/** Lists the organizations that were seen. */
export function organizationList(organizations: string[] | null) {
  return listOf(organizationItem, 'o', {
    from: sql`keywarden.organization o join keywarden.control_plane c on c.number = o.control_plane_number`,
    item: { control_plane: sql`c.base_url` },
    where: [visible(sql`o.id`, organizations)],
    order: { 'o.id': 'text', 'o.control_plane_number': 'bigint' },
    direction: 'asc',
  });
}
