import type { Hono } from 'hono';
import { z } from 'zod';
import { readBody } from '../http/json.ts';
import type { Env, State } from '../state.ts';
import { requireBranch, requireBranchId, requireProjectId } from './mutate.ts';

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
export function backupScheduleRoutes(api: Hono<Env>, state: State): void {
  const { db } = state;
  const place = '/projects/:project_id/branches/:branch_id/backup_schedule';

  api.get(place, (c) => {
    const branchId = requireBranchId(c, state);
    const row = db.get('select schedule from backup_schedule where branch_id = ?', branchId);
    return c.json({ schedule: JSON.parse(String(row?.schedule ?? '[]')) });
  });

  api.put(place, async (c) => {
    requireProjectId(c, state);
    const { schedule } = await readBody(c, scheduleBody);
    const { id } = requireBranch(c, state);
    db.run(
      'insert into backup_schedule values (?, ?) on conflict (branch_id) do update set schedule = excluded.schedule',
      String(id),
      JSON.stringify(schedule),
    );
    return c.json({ schedule });
  });
}
