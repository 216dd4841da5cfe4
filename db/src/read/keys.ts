import { and, asc, eq, ilike, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import { controlPlane, key } from '../schema/tables.ts';
import type { Db } from '../store.ts';
import { afterPosition, type PageRequest } from './keyset.ts';

export interface KeyFilter {
  organizationId?: string | undefined;
  projectId?: string | undefined;
  kind?: 'personal' | 'organization' | 'project' | undefined;
  state?: 'active' | 'missing' | 'gone' | undefined;
  creatorId?: string | undefined;
  /** Part of a name, whatever its case. */
  text?: string | undefined;
}

/** Keys by the order in which they were first seen. `organizations` null means all that there are. */
export async function listKeys(
  db: Db,
  { filter, organizations, page }: { filter: KeyFilter; organizations: string[] | null; page: PageRequest },
) {
  return await db
    .select({ key, baseUrl: controlPlane.baseUrl })
    .from(key)
    .innerJoin(controlPlane, eq(controlPlane.number, key.controlPlaneNumber))
    .where(
      and(
        filter.organizationId === undefined ? undefined : eq(key.organizationId, filter.organizationId),
        filter.projectId === undefined ? undefined : eq(key.projectId, filter.projectId),
        filter.kind === undefined ? undefined : eq(key.kind, filter.kind),
        filter.creatorId === undefined ? undefined : eq(key.creatorId, filter.creatorId),
        filter.text === undefined ? undefined : ilike(key.name, `%${filter.text.replace(/[\\%_]/g, '\\$&')}%`),
        inState(filter.state),
        organizations === null ? undefined : inArray(key.organizationId, organizations),
        afterPosition([[key.number, 'bigint']], 'asc', page.after),
      ),
    )
    .orderBy(asc(key.number))
    .limit(page.limit);
}

function inState(state: KeyFilter['state']): SQL | undefined {
  switch (state) {
    case undefined:
      return undefined;
    case 'active':
      return sql`${isNull(key.goneAt)} and ${isNull(key.missingSince)}`;
    case 'missing':
      return sql`${isNull(key.goneAt)} and ${isNotNull(key.missingSince)}`;
    case 'gone':
      return isNotNull(key.goneAt);
    default:
      return state satisfies never;
  }
}
