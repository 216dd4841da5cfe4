import { hash } from 'node:crypto';
import { columnsOf, int64, present } from '../http/json.ts';
import type { Database, Row } from '../store/database.ts';
import { HOUR, type Micros } from '../store/time.ts';

/**
 * Columns of a key for `renderKey`: int64 as text, and its last use as of `:seen`, which is now unless a list is late. A busy key is used
 * automatically, at every multiple of its interval.
 */
export const keyColumns = `cast(k.id as text) as id, k.kind, k.name, k.organization_id, k.project_id, k.user_id, k.created_at, k.revoked_at,
  nullif(max(
    coalesce(case when k.last_used_at <= :seen then k.last_used_at
      else (select max(u.at) from key_use u where u.key_id = k.id and u.at <= :seen) end, 0),
    case when k.busy_every is null or k.revoked_at is not null or :seen < k.created_at then 0 else :seen - :seen % k.busy_every end
  ), 0) as last_used_at,
  case when k.last_used_at <= :seen or k.busy_every is not null then k.last_used_from_addr
    else coalesce((select u.addr from key_use u where u.key_id = k.id and u.at <= :seen order by u.at desc limit 1), '') end
    as last_used_from_addr`;

/** Ends the automatic use of the keys of a project that ends; they count as used until then. */
export function endKeyUse(db: Database, projectId: string, at: Micros): void {
  db.run(
    `update api_key set last_used_at = max(coalesce(last_used_at, 0), :at - :at % busy_every), busy_every = null
     where project_id = :project and busy_every is not null and revoked_at is null`,
    { at, project: projectId },
  );
}

const historyKept = 25 * HOUR;

/** Records a use, and keeps earlier uses for as long as a list may be late. */
export function recordUse(db: Database, { keyId, at, address }: { keyId: string; at: Micros; address: string }): void {
  const id = BigInt(keyId);
  db.run(
    'insert or ignore into key_use select id, last_used_at, last_used_from_addr from api_key where id = ? and last_used_at is not null',
    id,
  );
  db.run(
    'delete from key_use where key_id = :id and at < (select max(at) from key_use where key_id = :id and at <= :old)',
    { id, old: at - historyKept },
  );
  db.run('update api_key set last_used_at = ?, last_used_from_addr = ? where id = ?', at, address, id);
}

export interface NewKey {
  kind: 'personal' | 'organization' | 'project';
  name: string;
  user_id: string;
  organization_id?: string;
  project_id?: string;
  created_at: Micros;
  last_used_at?: Micros;
  last_used_from_addr?: string;
  busy_every?: Micros;
}

export function hashToken(token: string): string {
  return hash('sha256', token);
}

/** Stores a key by its token's hash and returns the id's digits. */
export function insertKey(db: Database, key: NewKey, token: string): string {
  db.insert('api_key', { ...key, token_hash: hashToken(token) });
  return String(db.get('select cast(last_insert_rowid() as text) as id')?.id);
}

/** Returns a key as lists show it; revoke responses have the creator's bare id instead. */
export function renderKey(row: Row): Record<string, unknown> {
  return {
    ...columnsOf(row, 'name', 'created_at', 'last_used_at', 'last_used_from_addr'),
    id: int64(String(row.id)),
    ...present(columnsOf(row, 'project_id')),
  };
}
