import { and, type Column, eq, isNull, max, sql } from 'drizzle-orm';
import type { Reader } from '../list.ts';
import { credential, key } from '../schema/keys.ts';
import { organization } from '../schema/organizations.ts';
import { project } from '../schema/projects.ts';
import { findingNow, keyOwnerNow } from '../schema/views.ts';
import { anyOf } from '../sql.ts';

/** A value of a filter, and what a person calls it. */
export interface Suggestion {
  value: string;
  name: string;
}

export const suggestedFilters = ['organization_id', 'project_id', 'owner', 'rule'] as const;
export type SuggestedFilter = (typeof suggestedFilters)[number];

/** The most values of one filter. Others can be typed. */
const most = 500;

/** Lists values of a filter that a caller sees, with their names. */
export async function readSuggestions(
  db: Reader,
  filter: SuggestedFilter,
  organizations: string[] | null,
): Promise<Suggestion[]> {
  const seen = (column: Column) => (organizations === null ? undefined : anyOf(column, organizations));
  // Of a name that differs between control planes, one is shown.
  const nameOf = (column: Column) => max(column).mapWith(String);
  const reads: Record<SuggestedFilter, () => PromiseLike<Suggestion[]>> = {
    organization_id: () =>
      db
        .select({ value: organization.id, name: nameOf(organization.name) })
        .from(organization)
        .where(seen(organization.id))
        .groupBy(organization.id)
        .orderBy(nameOf(organization.name), organization.id)
        .limit(most),
    project_id: () =>
      db
        .select({ value: project.id, name: nameOf(project.name) })
        .from(project)
        .where(and(isNull(project.goneAt), seen(project.organizationId)))
        .groupBy(project.id)
        .orderBy(nameOf(project.name), project.id)
        .limit(most),
    owner: () =>
      db
        .selectDistinct({ value: keyOwnerNow.owner, name: keyOwnerNow.owner })
        .from(key)
        .innerJoin(keyOwnerNow, eq(keyOwnerNow.keyNumber, key.number))
        .where(and(isNull(key.goneAt), seen(key.organizationId)))
        .orderBy(keyOwnerNow.owner)
        .limit(most),
    rule: () =>
      db
        .selectDistinct({ value: findingNow.rule, name: findingNow.rule })
        .from(findingNow)
        .innerJoin(credential, eq(credential.number, findingNow.keyNumber))
        .where(and(sql`${findingNow.planId} = (select id from keywarden.newest_plan)`, seen(credential.organizationId)))
        .orderBy(findingNow.rule)
        .limit(most),
  };
  return await reads[filter]();
}
