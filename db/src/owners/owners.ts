import { keyKinds } from '@keywarden/core/wire';
import { type Sql, toJson } from '../sql.ts';

export interface Assignment {
  /** The store's number of the key. */
  key: string;
  /** Null gives the key back to its creator. */
  owner: string | null;
}

/** Records who answers for keys from now on: all of them, or none. */
export async function assignOwners(
  sql: Sql,
  { assignments, source, by }: { assignments: Assignment[]; source: 'import' | 'assignment'; by: string },
): Promise<void> {
  await sql`
    insert into keywarden.key_owner (key_number, owner, source, assigned_by)
    select key, owner, ${source}, ${by} from json_to_recordset(${toJson(assignments)}::json) as t(key bigint, owner text)`;
}

/** A live key by which a person may name it. */
export interface NamedKey {
  number: string;
  controlPlane: string;
  scope: string;
  id: string;
  name: string;
  kind: string;
  organizationId: string | null;
}

/** All keys that are there, for a person to choose from; with the other credentials where they are asked for. */
export async function listLiveKeys(sql: Sql, { withOthers = false } = {}): Promise<NamedKey[]> {
  const rows = await sql`
    select number, control_plane_number, scope, id, name, kind, organization_id from keywarden.credential
    where gone_at is null and (${withOthers} or kind = any(${[...keyKinds]})) order by number`;
  return rows.map((row) => ({
    number: String(row.number),
    controlPlane: String(row.control_plane_number),
    scope: String(row.scope),
    id: String(row.id),
    name: String(row.name),
    kind: String(row.kind),
    organizationId: row.organization_id === null ? null : String(row.organization_id),
  }));
}
