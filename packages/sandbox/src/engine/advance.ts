import { deleteBranch, forgetBranch, whyNotDeleted } from '../resources/branches.ts';
import type { State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { MINUTE, type Micros, SECOND } from '../store/time.ts';
import { enqueue, hasOpen, startNext, statusOf, step } from './queue.ts';
import { dailyWork } from './system.ts';
import { isFinal } from './transitions.ts';

type Kind =
  | 'operation'
  | 'visible'
  | 'idle'
  | 'work'
  | 'project_purge'
  | 'branch_expiry'
  | 'branch_purge'
  | 'snapshot_expiry';

const sources: readonly { kind: Kind; table: string; key: string; due: string }[] = [
  { kind: 'operation', table: 'operation', key: 'seq', due: 'next_at' },
  { kind: 'visible', table: 'operation', key: 'seq', due: 'visible_at' },
  { kind: 'idle', table: 'endpoint', key: 'id', due: 'suspend_at' },
  { kind: 'work', table: 'project', key: 'id', due: 'next_work_at' },
  { kind: 'project_purge', table: 'project', key: 'id', due: 'purge_at' },
  { kind: 'branch_expiry', table: 'branch', key: 'id', due: 'expires_at' },
  { kind: 'branch_purge', table: 'branch', key: 'id', due: 'purge_at' },
  { kind: 'snapshot_expiry', table: 'snapshot', key: 'id', due: 'expires_at' },
];

/**
 * Selects the earliest due item of each source. Items of one time keep the order in which they were made, as in the indexes.
 */
const nextOfEach = sources
  .map(
    ({ kind, table, key, due }) =>
      `select * from (select '${kind}' as kind, ${key} as key, ${due} as at from ${table} where ${due} <= :now order by ${due} limit 1)`,
  )
  .join(' union all ');

function nextDue({ db }: State, now: Micros): Row | undefined {
  return db
    .all(nextOfEach, { now })
    .reduce<Row | undefined>(
      (first, row) => (first === undefined || Number(row.at) < Number(first.at) ? row : first),
      undefined,
    );
}

/** Does everything that is due, in order of its times, each item as if at its own time. Called before each response. */
export function advance(state: State, now: Micros): void {
  let due = nextDue(state, now);
  if (due === undefined) return;
  state.db.transaction(() => {
    while (due !== undefined) {
      handle(state, due);
      due = nextDue(state, now);
    }
  });
}

function handle(state: State, due: Row): void {
  const { db } = state;
  const at = Number(due.at);
  // The union names only the kinds above.
  const kind = due.kind as Kind;
  const key = String(due.key);
  switch (kind) {
    case 'operation':
      return moveOperation(state, key, at);
    case 'visible':
      db.run('update operation set visible_at = null where visible_at <= ?', at);
      return undefined;
    case 'idle':
      return suspendIdle(state, key, at);
    case 'work':
      return dailyWork(state, key, at);
    case 'project_purge':
      db.run('update project set purge_at = null where id = ?', key);
      db.run('update api_key set revoked_at = ? where project_id = ? and revoked_at is null', at, key);
      enqueue(state, { projectId: key, at, by: 'system', tasks: [{ action: 'delete_tenant' }] });
      return undefined;
    case 'branch_expiry':
      return expireBranch(state, key, at);
    case 'branch_purge':
      return forgetBranch(db, key);
    case 'snapshot_expiry':
      db.run('delete from snapshot where id = ?', key);
      return undefined;
    default:
      return kind satisfies never;
  }
}

function moveOperation(state: State, seq: string, at: Micros): void {
  const row = state.db.get('select * from operation where seq = ?', Number(seq));
  if (row === undefined) return;
  const moved = step(state, row, at);
  if (isFinal(statusOf(moved))) startNext(state, String(moved.project_id), at);
}

function suspendIdle(state: State, endpointId: string, at: Micros): void {
  const row = state.db.get('select * from endpoint where id = ?', endpointId);
  const projectId = String(row?.project_id);
  if (hasOpen(state.db, projectId)) {
    state.db.run('update endpoint set suspend_at = ? where id = ?', at + 5 * SECOND, endpointId);
    return;
  }
  state.db.run("update endpoint set suspend_at = null, pending_state = 'idle' where id = ?", endpointId);
  const tasks = [{ action: 'suspend_compute', branchId: String(row?.branch_id), endpointId }];
  enqueue(state, { projectId, at, by: 'system', tasks });
}

function expireBranch(state: State, branchId: string, at: Micros): void {
  const row = state.db.get('select * from branch where id = ?', branchId);
  const projectId = String(row?.project_id);
  if (row === undefined || whyNotDeleted(state.db, row) !== null) {
    state.db.run('update branch set expires_at = null where id = ?', branchId);
    return;
  }
  const project = state.db.get('select deleted_at from project where id = ?', projectId);
  if (project?.deleted_at !== null || hasOpen(state.db, projectId)) {
    state.db.run('update branch set expires_at = ? where id = ?', at + MINUTE, branchId);
    return;
  }
  const tasks = deleteBranch(state.db, { branchId, at, method: 'ttl', isHard: false });
  enqueue(state, { projectId, at, by: 'system', tasks });
}
