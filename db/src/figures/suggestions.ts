import { type SQL, sql } from 'drizzle-orm';
import { type Reader, visible } from '../list.ts';

/** A value of a filter, and what a person calls it. */
export interface Suggestion {
  value: string;
  name: string;
}

export const suggestedFilters = ['organization_id', 'project_id', 'owner'] as const;
export type SuggestedFilter = (typeof suggestedFilters)[number];

/** The most values of one filter. Others can be typed. */
const most = 500;

/** Lists values of a filter that a caller sees, with their names. */
export async function readSuggestions(
  db: Reader,
  filter: SuggestedFilter,
  organizations: string[] | null,
): Promise<Suggestion[]> {
  const seen = (column: SQL) => visible(column, organizations) ?? sql`true`;
  const statements: Record<SuggestedFilter, SQL> = {
    organization_id: sql`
      select o.id as value, max(o.name) as name from keywarden.organization o where ${seen(sql`o.id`)} group by 1 order by 2, 1 limit ${most}`,
    project_id: sql`
      select p.id as value, max(p.name) as name from keywarden.project p where p.gone_at is null and ${seen(sql`p.organization_id`)}
      group by 1 order by 2, 1 limit ${most}`,
    owner: sql`
      select w.owner as value, w.owner as name from keywarden.key k join keywarden.key_owner_now w on w.key_number = k.number
      where k.gone_at is null and ${seen(sql`k.organization_id`)} group by 1 order by 1 limit ${most}`,
  };
  const rows = await db.execute(statements[filter]);
  return rows.map((row) => ({ value: String(row.value), name: String(row.name) }));
}
