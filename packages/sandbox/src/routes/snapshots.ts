import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { requireBranch, requireBranchId, requireProjectId } from '../access/rules.ts';
import { found, Refusal } from '../http/errors.ts';
import { readBody, readOptionalBody } from '../http/json.ts';
import { readInstant, readLsn, readPath } from '../http/query.ts';
import { renderBranch } from '../resources/branches.ts';
import { listEndpoints, renderEndpoint } from '../resources/endpoints.ts';
import { finalizeRestore, insertSnapshot, renderSnapshot, restoreSnapshot } from '../resources/snapshots.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { makeId } from '../store/random.ts';
import { mutate } from './mutate.ts';

const updateBody = z.object({ snapshot: z.object({ name: z.string().min(1).max(256).optional() }) });
const restoreBody = z.object({
  name: z.string().min(1).max(256).optional(),
  target_branch_id: z.string().optional(),
  finalize_restore: z.boolean().default(false),
});
const finalizeBody = z.object({ name: z.string().min(1).max(256).optional() });

export function snapshotRoutes(api: Hono<Env>, { db, random }: State): void {
  api.post('/projects/:project_id/branches/:branch_id/snapshot', (c) => {
    const projectId = requireProjectId(c);
    const point = { timestamp: readInstant(c, 'timestamp'), lsn: readLsn(c, 'lsn') };
    if (point.lsn !== undefined && point.timestamp !== undefined)
      throw new Refusal(422, 'lsn and timestamp cannot be given together');
    const expiresAt = readInstant(c, 'expires_at');
    return mutate(c, ({ at, order }) => {
      const branch = requireBranch(c);
      const branchId = String(branch.id);
      if (point.timestamp !== undefined && (point.timestamp > at || point.timestamp < Number(branch.created_at)))
        throw new Refusal(422, 'timestamp must lie between the creation of the branch and now');
      if (expiresAt !== undefined && expiresAt <= at) throw new Refusal(422, 'expires_at must be in the future');
      const id = makeId(random, 'snap');
      const name = c.req.query('name') ?? id;
      const columns = { id, project_id: projectId, branch_id: branchId, name, ...point };
      insertSnapshot(db, { ...columns, created_at: at, expires_at: expiresAt });
      const operations = order([{ action: 'create_branch', branchId }]);
      return c.json({ snapshot: renderSnapshot(requireSnapshot(c, id)), operations });
    });
  });

  api.get('/projects/:project_id/snapshots', (c) => {
    const projectId = requireProjectId(c);
    const rows = db.all('select * from snapshot where project_id = ? order by created_at desc, id', projectId);
    return c.json({ snapshots: rows.map(renderSnapshot) });
  });

  api.patch('/projects/:project_id/snapshots/:snapshot_id', async (c) => {
    requireProjectId(c);
    const row = requireSnapshot(c);
    const { snapshot: wanted } = await readBody(c, updateBody);
    db.update('snapshot', { id: String(row.id), name: wanted.name ?? String(row.name) });
    return c.json({ snapshot: renderSnapshot(requireSnapshot(c)) });
  });

  api.delete('/projects/:project_id/snapshots/:snapshot_id', (c) => {
    return mutate(c, ({ order }) => {
      const row = requireSnapshot(c);
      db.run('delete from snapshot where id = ?', String(row.id));
      return c.json({ operations: order([{ action: 'delete_timeline', branchId: String(row.branch_id) }]) }, 202);
    });
  });

  api.post('/projects/:project_id/snapshots/:snapshot_id/restore', async (c) => {
    requireProjectId(c);
    const wanted = await readOptionalBody(c, restoreBody);
    return mutate(c, ({ projectId, at, order }) => {
      const snapshot = requireSnapshot(c);
      const target = requireBranch(c, wanted.target_branch_id ?? String(snapshot.branch_id));
      const name = wanted.name ?? c.req.query('name');
      const createdBy = c.get('principal').userId;
      const id = restoreSnapshot({ db, random }, { snapshot, target, name, createdBy, at });
      const more = wanted.finalize_restore ? finalizeRestore(db, { branchId: id, at }) : [];
      const operations = order([{ action: 'create_branch', branchId: id }, ...more]);
      return c.json({
        branch: renderBranch(requireBranch(c, id)),
        endpoints: listEndpoints(db, { projectId, branchId: id }).map(renderEndpoint),
        operations,
      });
    });
  });

  api.post('/projects/:project_id/branches/:branch_id/finalize_restore', async (c) => {
    requireProjectId(c);
    const wanted = await readOptionalBody(c, finalizeBody);
    return mutate(c, ({ at, order }) => {
      const row = requireBranch(c);
      if (row.restore_status !== 'restored') throw new Refusal(422, 'the branch was not restored from a snapshot');
      return c.json({ operations: order(finalizeRestore(db, { branchId: String(row.id), name: wanted.name, at })) });
    });
  });
}

function requireSnapshot(c: Context<Env>, id = readPath(c, 'snapshot_id')): Row {
  const row = c.get('state').db.find('snapshot', { project_id: readPath(c, 'project_id'), id });
  return found(row, `snapshot not found; snapshot_id:"${id}"`);
}

const scheduleBody = z.object({
  schedule: z.array(
    z.object({
      frequency: z.enum(['hourly', 'daily', 'weekly', 'monthly', 'yearly']),
      hour: z.int().min(0).max(23).optional(),
      day: z.int().min(1).max(31).optional(),
      month: z.int().min(1).max(12).optional(),
      retention_seconds: z.int().min(3600).optional(),
    }),
  ),
});

/** Adds the routes for a branch's backup schedule. The schedule is stored and shown; the sandbox takes no snapshots by it. */
export function backupScheduleRoutes(api: Hono<Env>, { db }: State): void {
  const place = '/projects/:project_id/branches/:branch_id/backup_schedule';

  api.get(place, (c) => {
    const branchId = requireBranchId(c);
    const row = db.get('select schedule from backup_schedule where branch_id = ?', branchId);
    return c.json({ schedule: JSON.parse(String(row?.schedule ?? '[]')) });
  });

  api.put(place, async (c) => {
    requireProjectId(c);
    const { schedule } = await readBody(c, scheduleBody);
    const { id } = requireBranch(c);
    db.run(
      'insert into backup_schedule values (?, ?) on conflict (branch_id) do update set schedule = excluded.schedule',
      String(id),
      JSON.stringify(schedule),
    );
    return c.json({ schedule });
  });
}
