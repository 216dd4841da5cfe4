import type { State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { createRandom, seedOf } from '../store/random.ts';
import { DAY, HOUR, type Micros } from '../store/time.ts';
import { enqueue, hasOpen, type Task } from './queue.ts';

const detachAfter = 30 * DAY;
const reattachAfter = 7 * DAY;
const archiveAge = 14 * DAY;
const archiveIdle = DAY;

/** Returns when the control plane's own work on a project first runs: a day after `from`, at the project's own hour. */
export function firstWorkAt(projectId: string, from: Micros): Micros {
  return from + DAY + createRandom(seedOf(projectId)).below(4 * HOUR);
}

/** Makes one round of the control plane's own work on a project. */
export function dailyWork(state: State, projectId: string, at: Micros): void {
  const { db, work } = state;
  const pause = work.operations_per_day === 0 ? DAY : Math.min(365 * DAY, Math.floor(DAY / work.operations_per_day));
  db.update('project', { id: projectId, next_work_at: at + pause });
  if (work.operations_per_day === 0 || hasOpen(db, projectId)) return;
  const project = db.find('project', { id: projectId });
  if (project === undefined) return;
  const task = chooseTask(state, project, at);
  if (task !== null) enqueue(state, { projectId, at, by: 'system', tasks: [task] });
}

function chooseTask(state: State, project: Row, at: Micros): Task | null {
  if (project.detached_at !== null)
    return Number(project.detached_at) <= at - reattachAfter ? { action: 'tenant_reattach' } : null;
  const isIdle = Number(project.last_active_at ?? project.created_at) <= at - detachAfter;
  const active = { project_id: String(project.id), state: 'active', deleted_at: null };
  if (isIdle && state.db.find('endpoint', active) === undefined) return { action: 'tenant_detach' };
  const branch = archivable(state, String(project.id), at);
  if (branch !== undefined) return { action: 'timeline_archive', branchId: String(branch.id) };
  return computeWork(state, String(project.id), at);
}

/** Returns a branch to archive: old, idle and not the default. Using an archived branch restores it. */
function archivable({ db }: State, projectId: string, at: Micros): Row | undefined {
  return db.get(
    `select b.id from branch b where b.project_id = ? and b.deleted_at is null and b.state = 'ready' and b.is_default = 0
       and b.created_at <= ? and coalesce(b.last_active_at, b.created_at) <= ?
       and not exists (select 1 from endpoint e where e.branch_id = b.id and e.deleted_at is null and e.state = 'active')
     order by b.created_at, b.id limit 1`,
    projectId,
    at - archiveAge,
    at - archiveIdle,
  );
}

/** Returns the task for a compute: a check that it can start, or under settings with more work starts and new configurations. */
function computeWork({ db, work }: State, projectId: string, at: Micros): Task | null {
  const endpoints = db.all(
    `select e.id, e.branch_id, e.state from endpoint e join branch b on b.id = e.branch_id
     where e.project_id = ? and e.deleted_at is null and e.disabled = 0 and b.deleted_at is null and b.state = 'ready' order by e.id`,
    projectId,
  );
  if (endpoints.length === 0) return null; // branches without a compute are not checked
  const random = createRandom(seedOf(projectId) + Math.floor(at / HOUR));
  const endpoint = random.pick(endpoints);
  const actions = ['start_compute', 'apply_config', 'check_availability'];
  const chosen = work.operations_per_day > 1 ? random.pick(actions) : 'check_availability';
  const action = chosen === 'start_compute' && endpoint.state === 'active' ? 'check_availability' : chosen;
  return { action, branchId: String(endpoint.branch_id), endpointId: String(endpoint.id) };
}
