import type { Task } from '../engine/queue.ts';
import { columnsOf, present } from '../http/json.ts';
import type { Columns, Database, Row } from '../store/database.ts';
import { DAY, formatIfSet, type Micros, SECOND } from '../store/time.ts';

export interface NewBranch extends Columns {
  id: string;
  project_id: string;
  parent_id: string | null;
  name: string;
  created_at: Micros;
  created_by: string | null;
  state?: 'ready';
  /** The point of the parent's history that it starts from; the current time if absent. */
  parent_timestamp?: Micros | undefined;
  parent_lsn?: string | undefined;
}

export function insertBranch(db: Database, branch: NewBranch): void {
  const { parent_id: parent, parent_timestamp: from = branch.created_at, parent_lsn: lsn = lsnAt(from) } = branch;
  db.insert('branch', {
    state: 'init',
    pending_state: branch.state === 'ready' ? null : 'ready',
    state_changed_at: branch.created_at,
    init_source: 'parent-data',
    updated_at: branch.created_at,
    ...branch,
    parent_timestamp: parent === null ? null : from,
    parent_lsn: parent === null ? null : lsn,
  });
}

export function findBranch(db: Database, projectId: string, branchId: string): Row | undefined {
  return db.find('branch', { project_id: projectId, id: branchId, deleted_at: null });
}

export function findBranchByName(db: Database, projectId: string, name: string): Row | undefined {
  return db.find('branch', { project_id: projectId, name, deleted_at: null });
}

export function defaultBranch(db: Database, projectId: string): Row {
  return db.require('branch', { project_id: projectId, is_default: 1, deleted_at: null });
}

/** Returns a position in the write-ahead log that grows with time, in Postgres's notation. */
export function lsnAt(at: Micros): string {
  return `0/${Math.floor(at / SECOND)
    .toString(16)
    .toUpperCase()}`;
}

/** Copies databases and roles from the branch that a new one starts from. */
export function copyCatalog(db: Database, { from, to, at }: { from: string; to: string; at: Micros }): void {
  const copied = { from, to, at };
  db.run(
    `insert into database (branch_id, name, owner_name, created_at, updated_at)
     select :to, name, owner_name, :at, :at from database where branch_id = :from order by id`,
    copied,
  );
  db.run(
    `insert into role (branch_id, name, password, protected, no_login, created_at, updated_at)
     select :to, name, password, protected, no_login, :at, :at from role where branch_id = :from`,
    copied,
  );
}

export function clearCatalog(db: Database, branchId: string): void {
  db.run('delete from database where branch_id = ?', branchId);
  db.run('delete from role where branch_id = ?', branchId);
}

/** Returns why a branch cannot be deleted: it is the root or the default branch, or others start from it. Returns null if it can. */
export function whyNotDeleted(db: Database, row: Row): string | null {
  const id = String(row.id);
  if (row.is_default === 1) return `cannot delete the default branch; branch_id:"${id}"`;
  if (row.protected === 1) return `cannot delete a protected branch; branch_id:"${id}"`;
  // Restoring can make several branches without a parent; the first is the root.
  const root = db.get(
    'select id from branch where project_id = ? and parent_id is null and deleted_at is null order by created_at, id limit 1',
    String(row.project_id),
  );
  if (root?.id === id) return `cannot delete the root branch; branch_id:"${id}"`;
  const child = db.get('select id from branch where parent_id = ? and deleted_at is null limit 1', id);
  return child === undefined
    ? null
    : `cannot delete a branch that has children; branch_id:"${id}", child:"${String(child.id)}"`;
}

/** Deletes a branch and returns the tasks for it. The branch can be recovered for a week unless `isHard`. */
export function deleteBranch(
  db: Database,
  { branchId, at, method, isHard }: { branchId: string; at: Micros; method: 'user' | 'ttl'; isHard: boolean },
): Task[] {
  const active = db.all(
    "select id from endpoint where branch_id = ? and deleted_at is null and state = 'active'",
    branchId,
  );
  db.run('update endpoint set suspend_at = null where branch_id = ?', branchId);
  const purgeAt = isHard ? at : at + 7 * DAY;
  const deleted = { deleted_at: at, updated_at: at, purge_at: purgeAt, deletion_method: method, expires_at: null };
  db.update('branch', { id: branchId, ...deleted });
  return [
    ...active.map(({ id }) => ({ action: 'suspend_compute', branchId, endpointId: String(id) })),
    { action: 'delete_timeline', branchId },
  ];
}

/** Deletes a branch's data once its recovery window is over. */
export function forgetBranch(db: Database, branchId: string): void {
  clearCatalog(db, branchId);
  db.run('delete from endpoint where branch_id = ?', branchId);
  db.run('delete from branch where id = ?', branchId);
}

/** Returns a branch in the control plane's shape. `row` is a row of `branch`, with its creator's name as `creator` if that was joined. */
export function renderBranch(row: Row): Record<string, unknown> {
  return {
    ...columnsOf(row, 'id', 'project_id', 'name', 'state_changed_at', 'created_at', 'updated_at'),
    current_state: row.state,
    logical_size: 30_842_880,
    creation_source: 'console',
    primary: row.is_default === 1,
    default: row.is_default === 1,
    protected: row.protected === 1,
    cpu_used_sec: 0,
    compute_time_seconds: 0,
    active_time_seconds: 0,
    written_data_bytes: 0,
    data_transfer_bytes: 0,
    ...present({
      ...columnsOf(row, 'parent_id', 'parent_lsn', 'pending_state', 'init_source', 'last_reset_at', 'expires_at'),
      ...columnsOf(row, 'restored_from', 'restored_as', 'restore_status'),
      parent_timestamp: formatIfSet(row.parent_timestamp),
      ttl_interval_seconds:
        row.expires_at === null ? null : Math.round((Number(row.expires_at) - Number(row.updated_at)) / SECOND),
      created_by: row.creator === undefined || row.creator === null ? null : { name: row.creator, image: '' },
      recovery:
        row.deleted_at === null
          ? null
          : {
              ...columnsOf(row, 'deleted_at', 'deletion_method'),
              recoverable_until: formatIfSet(row.purge_at),
            },
    }),
  };
}

/** Returns the annotations that people wrote on a branch, in the shape that its routes return beside it. */
export function renderAnnotation(row: Row): Record<string, unknown> {
  return {
    object: { type: 'console/branch', id: row.id },
    value: row.annotation === null ? {} : JSON.parse(String(row.annotation)),
    created_at: formatIfSet(row.created_at),
    updated_at: formatIfSet(row.created_at),
  };
}
