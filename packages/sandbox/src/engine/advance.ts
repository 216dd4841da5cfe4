import { deleteBranch, forgetBranch, whyNotDeleted } from '../resources/branches.ts';
import type { State } from '../state.ts';
import { MINUTE, type Micros, SECOND } from '../store/time.ts';
import { enqueue, hasOpen, startNext, statusOf, step } from './queue.ts';
import { dailyWork } from './system.ts';
import { isFinal } from './transitions.ts';

/** Where things become due: the table with its key, the column of the time, and what is done then. */
interface Source {
  table: string;
  key: string;
  due: string;
  handle: (state: State, key: string, at: Micros) => void;
}

const sources: readonly Source[] = [
  { table: 'operation', key: 'seq', due: 'next_at', handle: moveOperation },
  { table: 'operation', key: 'seq', due: 'visible_at', handle: showOperations },
  { table: 'endpoint', key: 'id', due: 'suspend_at', handle: suspendIdle },
  { table: 'project', key: 'id', due: 'next_work_at', handle: dailyWork },
  { table: 'project', key: 'id', due: 'purge_at', handle: purgeProject },
  { table: 'branch', key: 'id', due: 'expires_at', handle: expireBranch },
  { table: 'branch', key: 'id', due: 'purge_at', handle: ({ db }, key) => forgetBranch(db, key) },
  { table: 'snapshot', key: 'id', due: 'expires_at', handle: ({ db }, key) => void db.run(expireSnapshot, key) },
];

const expireSnapshot = 'delete from snapshot where id = ?';

/** Selects the earliest due item of all sources. Items of one time keep the order in which they were made, as in the indexes. */
const unions = sources
  .map(
    ({ table, key, due }, source) =>
      `select * from (select ${source} as source, ${key} as key, ${due} as at from ${table} where ${due} <= :now order by ${due} limit 1)`,
  )
  .join(' union all ');
const nextDue = `${unions} order by at, source limit 1`;

/** Selects a row if anything is due. It takes a fifth of the time of `nextDue`, and before most responses nothing is due. */
const anyDue = `${sources.map(({ table, due }) => `select 1 from ${table} where ${due} <= :now`).join(' union all ')} limit 1`;

/** Does everything that is due, in order of its times, each item as if at its own time. Called before each response. */
export function advance(state: State, now: Micros): void {
  if (state.db.get(anyDue, { now }) === undefined) return;
  state.db.transaction(() => {
    let due = state.db.get(nextDue, { now });
    while (due !== undefined) {
      sources[Number(due.source)]?.handle(state, String(due.key), Number(due.at));
      due = state.db.get(nextDue, { now });
    }
  });
}

function purgeProject(state: State, projectId: string, at: Micros): void {
  state.db.run('update project set purge_at = null where id = ?', projectId);
  state.db.run('update api_key set revoked_at = ? where project_id = ? and revoked_at is null', at, projectId);
  enqueue(state, { projectId, at, by: 'system', tasks: [{ action: 'delete_tenant' }] });
}

function showOperations({ db }: State, _seq: string, at: Micros): void {
  db.run('update operation set visible_at = null where visible_at <= ?', at);
}

function moveOperation(state: State, seq: string, at: Micros): void {
  const row = state.db.find('operation', { seq: Number(seq) });
  if (row === undefined) return;
  const moved = step(state, row, at);
  if (isFinal(statusOf(moved))) startNext(state, String(moved.project_id), at);
}

function suspendIdle(state: State, endpointId: string, at: Micros): void {
  const row = state.db.find('endpoint', { id: endpointId });
  const projectId = String(row?.project_id);
  if (hasOpen(state.db, projectId)) {
    state.db.update('endpoint', { id: endpointId, suspend_at: at + 5 * SECOND });
    return;
  }
  state.db.update('endpoint', { id: endpointId, suspend_at: null, pending_state: 'idle' });
  const tasks = [{ action: 'suspend_compute', branchId: String(row?.branch_id), endpointId }];
  enqueue(state, { projectId, at, by: 'system', tasks });
}

function expireBranch(state: State, branchId: string, at: Micros): void {
  const row = state.db.find('branch', { id: branchId });
  const projectId = String(row?.project_id);
  if (row === undefined || whyNotDeleted(state.db, row) !== null) {
    state.db.update('branch', { id: branchId, expires_at: null });
    return;
  }
  const project = state.db.get('select deleted_at from project where id = ?', projectId);
  if (project?.deleted_at !== null || hasOpen(state.db, projectId)) {
    state.db.update('branch', { id: branchId, expires_at: at + MINUTE });
    return;
  }
  const tasks = deleteBranch(state.db, { branchId, at, method: 'ttl', isHard: false });
  enqueue(state, { projectId, at, by: 'system', tasks });
}
