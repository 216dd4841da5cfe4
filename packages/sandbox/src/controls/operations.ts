import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { Refusal } from '../http/errors.ts';
import { retentionStart } from '../resources/operations.ts';
import type { State } from '../state.ts';
import { formatInstant, SECOND } from '../store/time.ts';

const group = z.strictObject({
  count: z.int().min(1).max(10_000).default(1),
  age_seconds: z.number().nonnegative().max(1e9).default(0),
  late_seconds: z.number().nonnegative().max(1e7).default(0),
  going_on_seconds: z.number().nonnegative().max(1e7).default(0),
});

/**
 * Operations to add to a project, in groups with one time each: this many seconds ago. They show in lists after `late_seconds`, and stay in progress
 * for `going_on_seconds`; 0 means at once, and done.
 */
export const addedOperationsSchema = z.strictObject({
  project_id: z.string(),
  groups: z.array(group).min(1).max(1000),
});

/** Adds the operations; returns their ids, group by group. */
export function addOperations(
  { db, clock }: State,
  { project_id: projectId, groups }: z.infer<typeof addedOperationsSchema>,
): string[][] {
  if (db.get('select 1 from project where id = ?', projectId) === undefined)
    throw new Refusal(404, 'project not found');
  const now = clock.now();
  return db.transaction(() =>
    groups.map(({ count, age_seconds: age, late_seconds: late, going_on_seconds: going }) => {
      const at = now - Math.round(age * SECOND);
      return Array.from({ length: count }, () => {
        const id = randomUUID();
        db.insert('operation', {
          id,
          project_id: projectId,
          action: 'check_availability',
          status: going > 0 ? 'running' : 'finished',
          failures_count: 0,
          created_at: at,
          updated_at: at,
          is_open: going > 0,
          next_at: going > 0 ? now + Math.round(going * SECOND) : null,
          visible_at: late > 0 ? now + Math.round(late * SECOND) : null,
        });
        return id;
      });
    }),
  );
}

/** Lists the project's operations that lists show now, newest first, and those that lists no longer show. Late operations are in neither. */
export function listTrueOperations(
  { db, clock }: State,
  { projectId, withTimes }: { projectId: string; withTimes: boolean },
): Record<string, unknown> {
  const start = retentionStart(clock.now());
  const rows = db.all(
    'select id, created_at from operation where project_id = ? and visible_at is null order by created_at desc, seq desc',
    projectId,
  );
  const ids = (wanted: typeof rows) => wanted.map((row) => row.id);
  const times = Object.fromEntries(rows.map((row) => [String(row.id), formatInstant(Number(row.created_at))]));
  return {
    served: ids(rows.filter((row) => Number(row.created_at) >= start)),
    pruned: ids(rows.filter((row) => Number(row.created_at) < start)),
    ...(withTimes ? { created_at: times } : {}),
  };
}
