import { sql } from 'drizzle-orm';
import { type Reader, visible } from '../list.ts';

/** A value of a filter, and what a person calls it. */
interface Suggestion {
  value: string;
  name: string;
}

/** Values of filters by the name of the filter. */
export type Suggestions = Record<'organization_id' | 'project_id' | 'owner', Suggestion[]>;

/** The most values of one filter. Others can be typed. */
const most = 500;

/** Lists the organizations, projects and owners of keys that a caller sees, with their names. */
export async function readSuggestions(db: Reader, organizations: string[] | null): Promise<Suggestions> {
  const read = async (statement: ReturnType<typeof sql>) =>
    (await db.execute(statement)).map((row) => ({ value: String(row.value), name: String(row.name) }));
  const seen = (column: ReturnType<typeof sql>) => visible(column, organizations) ?? sql`true`;
  return {
    organization_id: await read(sql`
      select o.id as value, max(o.name) as name from keywarden.organization o where ${seen(sql`o.id`)} group by 1 order by 2, 1 limit ${most}`),
    project_id: await read(sql`
      select p.id as value, max(p.name) as name from keywarden.project p where p.gone_at is null and ${seen(sql`p.organization_id`)}
      group by 1 order by 2, 1 limit ${most}`),
    owner: await read(sql`
      select w.owner as value, w.owner as name from keywarden.key k join keywarden.key_owner_now w on w.key_number = k.number
      where k.gone_at is null and ${seen(sql`k.organization_id`)} group by 1 order by 1 limit ${most}`),
  };
}
