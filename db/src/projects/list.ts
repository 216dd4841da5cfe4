import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant } from '../item.ts';
import { equals, type FilterOf, listOf, matching, visible } from '../list.ts';

const projectStates = z.enum(['active', 'missing', 'gone']).meta({
  description: 'missing: absent from one list; two absences make it gone',
});

export const projectItem = z
  .strictObject({
    id: z.string(),
    control_plane: z.string(),
    organization_id: z.string(),
    name: z.string(),
    state: projectStates,
    region_id: z.string().nullable(),
    created_at: instant,
    first_seen_at: instant,
    last_seen_at: instant,
    gone_at: instant.nullable(),
    walked_at: instant.nullable(),
  })
  .meta({ id: 'Project' });

const state = sql`case when p.gone_at is not null then 'gone' when p.missing_since is not null then 'missing' else 'active' end`;

const filters = {
  id: equals('p.id'),
  organizationId: equals('p.organization_id'),
  state: (one: z.infer<typeof projectStates>) => sql`${state} = ${one}`,
};

/** Lists projects that were seen, including gone ones, in the order in which they were first seen. */
export function projectList(filter: FilterOf<typeof filters>, organizations: string[] | null) {
  return listOf(projectItem, 'p', {
    from: sql`keywarden.project p join keywarden.control_plane c on c.number = p.control_plane_number`,
    item: { control_plane: sql`c.base_url`, state },
    where: [...matching(filters, filter), visible(sql`p.organization_id`, organizations)],
    direction: 'asc',
  });
}
