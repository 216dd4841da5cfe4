import type { Facts, Policy } from '@keywarden/core/policy';
import { endSlot, isSlotDue } from '@keywarden/db/daemon';
import type { Db } from '@keywarden/db/store';
import { Cron } from 'croner';

/** Of which rules rotations may begin at a control plane, by `CONTROL_PLANE RULE`, and the time of the rule's schedule that is due. */
export type DueRules = Map<string, string | null>;

/**
 * The rules whose rotations may begin now: those without a schedule of their own, and those of whose schedule a time has come that was not seen to
 * whole. One that was missed is caught up; of a rule that is new only the next counts. The clocks are the control planes'.
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

/** Ends the times of which nothing is left to begin. */
export async function endDueRules(db: Db, due: DueRules, left: Set<string>): Promise<void> {
  for (const [place, slot] of due) {
    const [controlPlane = '', rule = ''] = place.split(' ');
    if (slot !== null && !left.has(place)) await endSlot(db, { controlPlane, rule, slot });
  }
}

/** The control plane of a scope as plans name it. */
export const controlPlaneOf = (scope: string) => scope.slice(0, scope.indexOf('/'));

function lastTime(schedule: string, nowMs: number): string | null {
  const [last] = new Cron(schedule, { paused: true, timezone: 'UTC' }).previousRuns(1, new Date(nowMs));
  return last === undefined ? null : last.toISOString();
}
