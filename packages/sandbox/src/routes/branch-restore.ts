import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { requireBranch, requireProjectId } from '../access/rules.ts';
import { restartTasks } from '../engine/tasks.ts';
import { Refusal } from '../http/errors.ts';
import { readBody } from '../http/json.ts';
import { instantOf, logSequenceNumber } from '../http/query.ts';
import { clearCatalog, copyCatalog, insertBranch, lsnAt, renderBranch } from '../resources/branches.ts';
import { listEndpoints } from '../resources/endpoints.ts';
import type { Env, State } from '../state.ts';
import type { Database, Row } from '../store/database.ts';
import { makeId } from '../store/random.ts';
import type { Micros } from '../store/time.ts';
import { branchWithCreator, requireFreeName } from './branches.ts';
import { mutate } from './mutate.ts';

const restoreBody = z.object({
  source_branch_id: z.string(),
  source_lsn: logSequenceNumber.optional(),
  source_timestamp: z.string().optional(),
  preserve_under_name: z.string().min(1).max(256).optional(),
});
type Restore = z.infer<typeof restoreBody>;

/** Adds the route that restores a branch to an earlier state of itself or of another branch. Its previous state can be kept as a separate branch. */
export function branchRestoreRoute(api: Hono<Env>, { db }: State): void {
  api.post('/projects/:project_id/branches/:branch_id/restore', async (c) => {
    const projectId = requireProjectId(c);
    const wanted = await readBody(c, restoreBody);
    return mutate(c, ({ at, order }) => {
      const row = requireBranch(c);
      const source = requireBranch(c, wanted.source_branch_id);
      const point = requirePoint(wanted, { row, source, at });
      if (wanted.preserve_under_name !== undefined) preserve(c, { row, name: wanted.preserve_under_name, at });
      const id = String(row.id);
      if (source.id !== row.id) {
        clearCatalog(db, id);
        copyCatalog(db, { from: String(source.id), to: id, at });
      }
      const restored = { parent_timestamp: point, parent_lsn: wanted.source_lsn ?? lsnAt(point), last_reset_at: at };
      const parent = parentAfter(db, row, source) ?? undefined;
      db.update('branch', { id, parent_id: parent, ...restored, updated_at: at });
      const active = listEndpoints(db, { projectId, branchId: id }).filter((endpoint) => endpoint.state === 'active');
      const operations = order([
        { action: 'create_branch', branchId: id },
        ...active.flatMap((endpoint) => restartTasks(db, endpoint)),
      ]);
      return c.json({ branch: renderBranch(branchWithCreator(db, id)), operations });
    });
  });
}

/** Returns the parent after a restore. A root stays a root, and no branch becomes its own descendant. */
function parentAfter(db: Database, row: Row, source: Row): string | null {
  const isBelow = db.get(
    `with recursive up (id, parent_id) as (
       select id, parent_id from branch where id = :source
       union select b.id, b.parent_id from branch b join up on b.id = up.parent_id)
     select 1 from up where id = :row`,
    { source: String(source.id), row: String(row.id) },
  );
  return row.parent_id === null || isBelow !== undefined ? null : String(source.id);
}

function requirePoint(wanted: Restore, { row, source, at }: { row: Row; source: Row; at: Micros }): Micros {
  if (wanted.source_lsn !== undefined && wanted.source_timestamp !== undefined)
    throw new Refusal(422, 'source_lsn and source_timestamp cannot be given together');
  const isItself = source.id === row.id;
  if (isItself && wanted.source_lsn === undefined && wanted.source_timestamp === undefined)
    throw new Refusal(422, 'restoring a branch to itself needs source_lsn or source_timestamp');
  if (isItself && wanted.preserve_under_name === undefined)
    throw new Refusal(422, 'restoring a branch to itself needs preserve_under_name');
  if (wanted.source_timestamp === undefined) return at;
  const point = instantOf(wanted.source_timestamp, 'source_timestamp');
  if (point > at || point < Number(source.created_at))
    throw new Refusal(422, 'source_timestamp must lie between the creation of the source branch and now');
  return point;
}

/** Keeps the state before the restore as a separate branch. */
function preserve(c: Context<Env>, { row, name, at }: { row: Row; name: string; at: Micros }): void {
  const projectId = String(row.project_id);
  const { db, random } = c.get('state');
  requireFreeName(db, projectId, name);
  const id = makeId(random, 'br');
  insertBranch(db, {
    id,
    project_id: projectId,
    parent_id: row.parent_id === null ? null : String(row.parent_id),
    name,
    created_at: at,
    created_by: c.get('principal').userId,
    state: 'ready',
  });
  copyCatalog(db, { from: String(row.id), to: id, at });
}
