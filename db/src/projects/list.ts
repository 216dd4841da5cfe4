import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { columnsOf, instant } from '../item.ts';
import { type List, visible, when } from '../list.ts';

export const projectItem = z
  .strictObject({
    id: z.string(),
    control_plane: z.string(),
    organization_id: z.string(),
    name: z.string(),
    region_id: z.string().nullable(),
    created_at: instant,
    first_seen_at: instant,
    last_seen_at: instant,
    gone_at: instant.nullable(),
    walked_at: instant.nullable(),
  })
  .meta({ id: 'Project' });

export interface ProjectFilter {
  id?: string | undefined;
  organizationId?: string | undefined;
  state?: 'active' | 'gone' | undefined;
}

/** Lists projects that were seen, including gone ones, in the order in which they were first seen. */
export function projectList(
  { id, organizationId, state }: ProjectFilter,
  organizations: string[] | null,
): List<typeof projectItem> {
  return {
    schema: projectItem,
    from: sql`keywarden.project p join keywarden.control_plane c on c.number = p.control_plane_number`,
    item: { ...columnsOf(projectItem, 'p'), control_plane: sql`c.base_url` },
    where: [
      when(id, (wanted) => sql`p.id = ${wanted}`),
      when(organizationId, (wanted) => sql`p.organization_id = ${wanted}`),
      when(state, (wanted) => (wanted === 'gone' ? sql`p.gone_at is not null` : sql`p.gone_at is null`)),
      visible(sql`p.organization_id`, organizations),
    ],
    order: [{ by: sql`p.number`, type: 'bigint' }],
    direction: 'asc',
  };
}
