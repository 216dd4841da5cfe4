import { keyKinds } from '@keywarden/core/wire';
import { and, asc, count, eq, sql as fragment, isNull } from 'drizzle-orm';
import type { Reader } from '../list.ts';
import { credential, key } from '../schema/keys.ts';
import { keyOwnerNow } from '../schema/views.ts';
import { anyOf, type Db, hasValues, type Sql, toJson } from '../sql.ts';

export interface Assignment {
  /** The store's number of the key. */
  key: string;
  /** The owner; null returns the key to its creator. */
  owner: string | null;
}

/** Records the owners of keys from now on: all of them, or none. */
export async function assignOwners(
  sql: Sql,
  { assignments, source, by }: { assignments: Assignment[]; source: 'import' | 'assignment'; by: string },
): Promise<void> {
  await sql`
    insert into keywarden.key_owner (key_number, owner, source, assigned_by)
    select key, owner, ${source}, ${by} from json_to_recordset(${toJson(assignments)}::json) as t(key bigint, owner text)`;
}

/** A live key, with the values by which a person may name it. */
export type NamedKey = Pick<
  typeof credential.$inferSelect,
  'number' | 'scope' | 'id' | 'name' | 'kind' | 'organizationId'
> & { controlPlane: string };

/** Lists all live keys, for a person to choose from, with the other credentials if requested. */
export async function listLiveKeys(db: Db, { withOthers = false } = {}): Promise<NamedKey[]> {
  const { number, controlPlaneNumber: controlPlane, scope, id, name, kind, organizationId } = credential;
  return await db
    .select({ number, controlPlane, scope, id, name, kind, organizationId })
    .from(credential)
    .where(and(isNull(credential.goneAt), withOthers ? undefined : anyOf(kind, keyKinds)))
    .orderBy(asc(number));
}

/** Lists the owners of live API keys by name, each with the number and the organizations of their keys. */
export async function listKeyOwners(db: Reader) {
  const { organizationId } = key;
  return await db
    .select({
      owner: keyOwnerNow.owner,
      keys: count(),
      organizations: fragment<
        string[]
      >`coalesce(array_agg(distinct ${organizationId}) filter (where ${organizationId} is not null), '{}')`,
    })
    .from(key)
    .innerJoin(keyOwnerNow, eq(keyOwnerNow.keyNumber, key.number))
    .where(hasValues(key, { goneAt: null, missingSince: null }))
    .groupBy(keyOwnerNow.owner)
    .orderBy(asc(keyOwnerNow.owner));
}
