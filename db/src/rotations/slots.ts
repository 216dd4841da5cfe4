import { and, lte, sql as raw } from 'drizzle-orm';
import { rotationSlot } from '../schema/rotations.ts';
import { type Db, hasValues } from '../sql.ts';

interface Slot {
  controlPlane: string;
  rule: string;
  /** A time of the rule's schedule, RFC 3339. */
  slot: string;
}

/**
 * Records that a time of a rule's schedule has come. Returns whether rotations are due for it: it, or an earlier one, is not complete. For
 * a new rule, the times before count as complete.
 */
export async function isSlotDue(db: Db, due: Slot): Promise<boolean> {
  const { controlPlane: controlPlaneNumber, rule, slot } = due;
  // The newest recorded time is earlier than this one.
  const hasEarlier = raw`exists (
    select from keywarden.rotation_slot where control_plane_number = ${controlPlaneNumber} and rule = ${rule} and slot < ${slot}::timestamptz
      and not exists (select from keywarden.rotation_slot l where l.control_plane_number = ${controlPlaneNumber} and l.rule = ${rule}
        and l.slot > ${slot}::timestamptz))`;
  await db
    .insert(rotationSlot)
    .values({ controlPlaneNumber, rule, slot, doneAt: raw`case when ${hasEarlier} then null else now() end` })
    .onConflictDoNothing();
  return (await db.$count(rotationSlot, untilNow(due))) > 0;
}

/** Records that everything due at a time or before has been begun. */
export async function endSlot(db: Db, due: Slot): Promise<void> {
  await db.update(rotationSlot).set({ doneAt: raw`now()` }).where(untilNow(due));
}

/** Returns the condition for times up to this one that are not complete. */
const untilNow = ({ controlPlane, rule, slot }: Slot) =>
  and(hasValues(rotationSlot, { controlPlaneNumber: controlPlane, rule, doneAt: null }), lte(rotationSlot.slot, slot));
