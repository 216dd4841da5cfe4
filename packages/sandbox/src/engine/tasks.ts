import { findReadWrite } from '../resources/endpoints.ts';
import type { Database, Row } from '../store/database.ts';
import type { Task } from './queue.ts';

// Maps requests to the operations that they imply.

/** Returns the tasks to start a compute. Its project may be detached from storage, and its branch archived. */
export function startTasks(db: Database, endpoint: Row): Task[] {
  const { branchId, endpointId } = placeOf(endpoint);
  const project = db.get('select detached_at from project where id = ?', String(endpoint.project_id));
  const branch = db.get('select state from branch where id = ?', branchId);
  return [
    ...(project?.detached_at === null ? [] : [{ action: 'tenant_reattach' }]),
    ...(branch?.state === 'archived' ? [{ action: 'timeline_unarchive', branchId }] : []),
    { action: 'start_compute', branchId, endpointId },
  ];
}

export function suspendTasks(endpoint: Row): Task[] {
  return endpoint.state === 'active' ? [{ action: 'suspend_compute', ...placeOf(endpoint) }] : [];
}

/** Returns the tasks of a new configuration: an idle compute runs for a short time to apply it. */
export function configureTasks(db: Database, endpoint: Row): Task[] {
  if (endpoint.disabled === 1) return []; // applied when it is enabled and starts
  const apply = { action: 'apply_config', ...placeOf(endpoint) };
  if (endpoint.state === 'active') return [apply];
  return [...startTasks(db, endpoint), apply, { action: 'suspend_compute', ...placeOf(endpoint) }];
}

/** Returns the tasks of a change inside a branch: none while it has no compute that writes. */
export function configureBranchTasks(db: Database, branchId: string): Task[] {
  const endpoint = findReadWrite(db, branchId);
  return endpoint === undefined ? [] : configureTasks(db, endpoint);
}

/** Returns the tasks that make a running compute use another state of its branch. */
export function restartTasks(db: Database, endpoint: Row): Task[] {
  return [...suspendTasks(endpoint), ...startTasks(db, endpoint)];
}

function placeOf(endpoint: Row): { branchId: string; endpointId: string } {
  return { branchId: String(endpoint.branch_id), endpointId: String(endpoint.id) };
}
