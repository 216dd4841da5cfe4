import { controlPlaneOf, type Facts, type Policy } from '@keywarden/core/policy';
import { endSlot, isSlotDue } from '@keywarden/db/daemon';
import type { Db } from '@keywarden/db/store';
import { Cron } from 'croner';

/** The rules whose rotations may begin at a control plane, by `CONTROL_PLANE RULE`, each with the due time of its schedule. */
export type DueRules = Map<string, string | null>;

/**
 * Returns the rules whose rotations may begin now: those without their own schedule, and those with a due time that is not yet handled
 * completely. A missed time is caught up. For a new rule only the next time counts. The clocks are the control planes'.
 */
export async function readDueRules(db: Db, { rules }: Policy, { scopes }: Facts): Promise<DueRules> {
  const clocks = new Map(
    scopes.flatMap(({ scope, nowMs }) => (nowMs === null ? [] : [[controlPlaneOf(scope), nowMs] as const])),
  );
  const due: DueRules = new Map();
  for (const { name, rotation } of rules) {
    if (rotation === undefined) continue;
    for (const [controlPlane, nowMs] of clocks) {
      const slot = rotation.schedule === undefined ? null : lastTime(rotation.schedule, nowMs);
      if (slot === null || (await isSlotDue(db, { controlPlane, rule: name, slot })))
        due.set(`${controlPlane} ${name}`, slot);
    }
  }
  return due;
}

/** Ends the due times for which no rotation is left to begin. */
export async function endDueRules(db: Db, due: DueRules, left: Set<string>): Promise<void> {
  for (const [place, slot] of due) {
    const [controlPlane = '', rule = ''] = place.split(' ');
    if (slot !== null && !left.has(place)) await endSlot(db, { controlPlane, rule, slot });
  }
}

function lastTime(schedule: string, nowMs: number): string | null {
  const [last] = new Cron(schedule, { paused: true, timezone: 'UTC' }).previousRuns(1, new Date(nowMs));
  return last === undefined ? null : last.toISOString();
}
