import { sql } from 'drizzle-orm';
import { type List, time, visible, when } from '../list.ts';

export interface ProjectFilter {
  id?: string | undefined;
  organizationId?: string | undefined;
  state?: 'active' | 'gone' | undefined;
}

/** Projects that were seen, gone ones too, by the order in which they were. */
export function projectList({ id, organizationId, state }: ProjectFilter, organizations: string[] | null): List {
  return {
    from: sql`keywarden.project p join keywarden.control_plane c on c.number = p.control_plane_number`,
    item: {
      id: sql`p.id`,
      control_plane: sql`c.base_url`,
      organization_id: sql`p.organization_id`,
      name: sql`p.name`,
      region_id: sql`p.region_id`,
      created_at: time(sql`p.created_at`),
      first_seen_at: time(sql`p.first_seen_at`),
      last_seen_at: time(sql`p.last_seen_at`),
      gone_at: time(sql`p.gone_at`),
      walked_at: time(sql`p.walked_at`),
    },
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
