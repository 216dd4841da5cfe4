import type { Database, Row } from '../store/database.ts';
import { type Micros, SECOND } from '../store/time.ts';

const defaultSuspendTimeoutSeconds = 300;

/** Applies what a finished operation does to its branch, compute or project. */
export function takeEffect(db: Database, operation: Row, at: Micros): void {
  const {
    action,
    status,
    project_id: project = null,
    branch_id: branch = null,
    endpoint_id: endpoint = null,
  } = operation;
  if (endpoint !== null) db.update('endpoint', { id: endpoint, pending_state: null });
  if (branch !== null) db.update('branch', { id: branch, pending_state: null });
  if (status !== 'finished') {
    if (action === 'suspend_compute') suspendLater(db, endpoint, at);
    return;
  }
  switch (action) {
    case 'create_timeline':
    case 'create_branch':
    case 'timeline_unarchive':
      db.update('branch', { id: branch, state: 'ready', state_changed_at: at });
      break;
    case 'timeline_archive':
      db.update('branch', { id: branch, state: 'archived', state_changed_at: at });
      break;
    case 'start_compute':
      activate(db, { project, branch, endpoint, at });
      break;
    case 'suspend_compute':
      db.update('endpoint', { id: endpoint, state: 'idle', suspended_at: at, suspend_at: null, updated_at: at });
      break;
    case 'tenant_detach':
      db.update('project', { id: project, detached_at: at });
      break;
    case 'tenant_attach':
    case 'tenant_reattach':
      db.update('project', { id: project, detached_at: null, last_active_at: at });
      break;
    case 'delete_tenant':
      forgetData(db, project);
      break;
    default: // the others change nothing that can be read
  }
}

type Value = Row[string];

function activate(
  db: Database,
  { project, branch, endpoint, at }: { project: Value; branch: Value; endpoint: Value; at: Micros },
): void {
  const owner = db.get('select deleted_at from project where id = ?', project);
  if (owner?.deleted_at !== null) return; // deleted meanwhile: nothing in it starts any more
  db.run(
    `update endpoint set state = 'active', started_at = :at, last_active_at = :at, updated_at = :at,
       suspend_at = case suspend_timeout_seconds when -1 then null when 0 then :at + ${defaultSuspendTimeoutSeconds * SECOND}
         else :at + suspend_timeout_seconds * ${SECOND} end
     where id = :endpoint and deleted_at is null`,
    { at, endpoint },
  );
  db.update('branch', { id: branch, last_active_at: at });
  db.update('project', { id: project, last_active_at: at });
}

/** Schedules a suspension. A compute that could not be suspended is still idle, so the attempt is repeated. */
function suspendLater(db: Database, endpoint: Value, at: Micros): void {
  db.run(
    "update endpoint set suspend_at = ? where id = ? and state = 'active' and deleted_at is null",
    at + defaultSuspendTimeoutSeconds * SECOND,
    endpoint,
  );
}

/** Deletes what a project contained. Its row and its operations stay, as the truth that tests query. */
function forgetData(db: Database, project: Value): void {
  const branches = 'branch_id in (select id from branch where project_id = ?)';
  db.run(`delete from database where ${branches}`, project);
  db.run(`delete from role where ${branches}`, project);
  for (const table of ['endpoint', 'branch', 'snapshot']) db.run(`delete from ${table} where project_id = ?`, project);
}
