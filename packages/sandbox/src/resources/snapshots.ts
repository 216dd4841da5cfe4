import type { Task } from '../engine/queue.ts';
import { restartTasks } from '../engine/tasks.ts';
import { Refusal } from '../http/errors.ts';
import { columnsOf, present } from '../http/json.ts';
import type { State } from '../state.ts';
import type { Columns, Database, Row } from '../store/database.ts';
import { makeId } from '../store/random.ts';
import { formatIfSet, type Micros, SECOND } from '../store/time.ts';
import { findBranchByName, insertBranch, lsnAt } from './branches.ts';
import { insertDatabase, insertRole, listDatabases, listRoles } from './catalog.ts';
import { findReadWrite, listEndpoints } from './endpoints.ts';

interface Catalog {
  databases: { name: string; owner_name: string }[];
  roles: { name: string; password: string; no_login: number }[];
}

/** Stores the current contents of a branch. Its past is not stored: a snapshot of an earlier point holds the same. */
export function insertSnapshot(db: Database, snapshot: NewSnapshot): void {
  const { branch_id: branch, created_at: at, timestamp = at, lsn = lsnAt(timestamp) } = snapshot;
  const catalog = { databases: listDatabases(db, branch), roles: listRoles(db, branch) };
  db.insert('snapshot', { ...snapshot, timestamp, lsn, catalog });
}

interface NewSnapshot extends Columns {
  branch_id: string;
  created_at: Micros;
  timestamp: Micros | undefined;
  lsn: string | undefined;
}

/** Makes a branch from a snapshot and returns its id. `target` is the branch that it will replace once it is finalized. */
export function restoreSnapshot(
  { db, random }: Pick<State, 'db' | 'random'>,
  wanted: { snapshot: Row; target: Row; name: string | undefined; createdBy: string; at: Micros },
): string {
  const { snapshot, target, at } = wanted;
  const projectId = String(snapshot.project_id);
  const id = makeId(random, 'br');
  const name = wanted.name ?? `${String(target.name)}_restored_${Math.floor(at / SECOND)}`;
  if (findBranchByName(db, projectId, name) !== undefined)
    throw new Refusal(409, `branch already exists; branch_name:"${name}"`);
  insertBranch(db, {
    id,
    project_id: projectId,
    parent_id: null,
    name,
    created_at: at,
    created_by: wanted.createdBy,
    init_source: 'snapshot',
    restored_from: String(snapshot.id),
    restored_as: String(target.id),
    restore_status: 'restored',
  });
  // Only insertSnapshot writes it.
  const catalog = JSON.parse(String(snapshot.catalog)) as Catalog;
  for (const { name, password, no_login: noLogin } of catalog.roles)
    insertRole(db, { branch_id: id, name, password, no_login: noLogin === 1 }, at);
  for (const { name, owner_name } of catalog.databases) insertDatabase(db, { branch_id: id, name, owner_name }, at);
  return id;
}

/** Replaces a branch by the restored one, which takes over its name, its computes and its default status. */
export function finalizeRestore(
  db: Database,
  { branchId, name, at }: { branchId: string; name?: string | undefined; at: Micros },
): Task[] {
  const restored = db.find('branch', { id: branchId });
  const target = db.find('branch', { id: restored?.restored_as ?? null, deleted_at: null });
  if (target === undefined) throw new Refusal(422, 'the branch to be replaced no longer exists');
  const targetId = String(target.id);
  if (name !== undefined && findBranchByName(db, String(target.project_id), name) !== undefined)
    throw new Refusal(409, `branch already exists; branch_name:"${name}"`);
  if (findReadWrite(db, branchId) !== undefined && findReadWrite(db, targetId) !== undefined)
    throw new Refusal(409, 'both branches have a read_write endpoint, and a branch has at most one');
  const oldName = name ?? `${String(target.name)}_old_${Math.floor(at / SECOND)}`;
  // A replaced root becomes a child of its replacement, and can be deleted.
  const parent = target.parent_id ?? branchId;
  db.update('branch', { id: targetId, name: oldName, is_default: 0, updated_at: at, parent_id: parent });
  const { name: taken = '', is_default: isDefault = 0 } = target;
  const finalized = { name: taken, is_default: isDefault, restore_status: 'finalized', updated_at: at };
  db.update('branch', { id: branchId, ...finalized });
  db.run(
    'update endpoint set branch_id = ?, updated_at = ? where branch_id = ? and deleted_at is null',
    branchId,
    at,
    targetId,
  );
  return listEndpoints(db, { projectId: String(target.project_id), branchId })
    .filter((endpoint) => endpoint.state === 'active')
    .flatMap((endpoint) => restartTasks(db, endpoint));
}

export const renderSnapshot = (row: Row) => ({
  ...columnsOf(row, 'id', 'name', 'lsn', 'created_at'),
  source_branch_id: row.branch_id,
  manual: true,
  full_size: 30_842_880,
  ...present({ ...columnsOf(row, 'expires_at'), timestamp: formatIfSet(row.timestamp) }),
});
