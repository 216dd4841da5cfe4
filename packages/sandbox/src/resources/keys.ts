import { createHash } from 'node:crypto';
import { int64 } from '../http/json.ts';
import type { Database, Row } from '../store/database.ts';
import { formatInstant, type Micros } from '../store/time.ts';

/** Columns of a key for `renderKey`: int64 as text, and the use of a busy key brought up to now. */
export const keyColumns = `cast(k.id as text) as id, k.kind, k.name, k.organization_id, k.project_id, k.user_id, k.created_at,
  case when k.busy_every is null or k.revoked_at is not null then k.last_used_at
       else max(coalesce(k.last_used_at, 0), :now - :now % k.busy_every) end as last_used_at,
  k.last_used_from_addr, k.revoked_at`;

export interface NewKey {
  kind: 'personal' | 'organization' | 'project';
  name: string;
  userId: string;
  organizationId: string | null;
  projectId: string | null;
  createdAt: Micros;
  lastUsedAt?: Micros | null;
  lastUsedFrom?: string;
  busyEvery?: Micros | null;
}

/** Stores a key by its token's hash and answers with the id's digits. */
export function insertKey(db: Database, key: NewKey, token: string): string {
  const row = db.get(
    `insert into api_key (id, kind, token_hash, name, organization_id, project_id, user_id, created_at, last_used_at,
       last_used_from_addr, busy_every)
     values ((select coalesce(max(id), 0) + 1 from api_key), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning cast(id as text) as id`,
    key.kind,
    createHash('sha256').update(token).digest('hex'),
    key.name,
    key.organizationId,
    key.projectId,
    key.userId,
    key.createdAt,
    key.lastUsedAt ?? null,
    key.lastUsedFrom ?? '',
    key.busyEvery ?? null,
  );
  return String(row?.id);
}

/** A key as lists show it; revoke responses carry the creator's bare id instead. */
export function renderKey(row: Row): Record<string, unknown> {
  return {
    id: int64(String(row.id)),
    name: row.name,
    created_at: formatInstant(Number(row.created_at)),
    last_used_at: row.last_used_at === null ? null : formatInstant(Number(row.last_used_at)),
    last_used_from_addr: row.last_used_from_addr,
    ...(row.project_id === null ? {} : { project_id: row.project_id }),
  };
}
