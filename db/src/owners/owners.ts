import { keyKinds } from '@keywarden/core/wire';
import { and, asc, sql as fragment, isNull } from 'drizzle-orm';
import type { Reader } from '../list.ts';
import { credential } from '../schema/keys.ts';
import { anyOf, type Db, type Sql, toJson } from '../sql.ts';

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
export interface NamedKey {
  number: string;
  controlPlane: string;
  scope: string;
  id: string;
  name: string;
  kind: string;
  organizationId: string | null;
}

/** Lists all live keys, for a person to choose from, with the other credentials if requested. */
export async function listLiveKeys(db: Db, { withOthers = false } = {}): Promise<NamedKey[]> {
  const { number, controlPlaneNumber: controlPlane, scope, id, name, kind, organizationId } = credential;
  return await db
    .select({ number, controlPlane, scope, id, name, kind, organizationId })
    .from(credential)
    .where(and(isNull(credential.goneAt), withOthers ? undefined : anyOf(kind, keyKinds)))
    .orderBy(asc(number));
}

/** An owner with the number and the organizations of their live keys. */
export interface KeyOwner {
  owner: string;
  keys: number;
  organizations: string[];
}

/** Lists the owners of live API keys by name. */
export async function listKeyOwners(db: Reader): Promise<KeyOwner[]> {
  const rows = await db.execute(fragment`
    select w.owner, count(*)::int as keys, coalesce(array_agg(distinct k.organization_id) filter (where k.organization_id is not null), '{}') as organizations
    from keywarden.key k join keywarden.key_owner_now w on w.key_number = k.number
    where k.gone_at is null and k.missing_since is null group by 1 order by 1`);
  return rows.map((row) => ({
    owner: String(row.owner),
    keys: Number(row.keys),
    organizations: row.organizations as string[],
  }));
}
