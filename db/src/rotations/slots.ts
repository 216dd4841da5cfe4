import { and, eq, isNull, lte, sql as raw } from 'drizzle-orm';
import { rotationSlot } from '../schema/rotations.ts';
import type { Db } from '../sql.ts';

interface Slot {
  controlPlane: string;
  rule: string;
  /** A time of the rule's schedule, RFC 3339. */
  slot: string;
}

/**
 * Records that a time of a rule's schedule has come, and answers whether rotations are to begin for it: it, or an earlier one, was not seen to
 * whole. Of a rule that is new the time before counts as seen to.
 */
export async function isSlotDue(db: Db, due: Slot): Promise<boolean> {
  const { controlPlane: controlPlaneNumber, rule, slot } = due;
  // The newest that is known is an earlier one.
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

/** All that was due at a time, or before, has been begun. */
export async function endSlot(db: Db, due: Slot): Promise<void> {
  await db.update(rotationSlot).set({ doneAt: raw`now()` }).where(untilNow(due));
}

/** What has come up to a time, and was not seen to. */
const untilNow = ({ controlPlane, rule, slot }: Slot) =>
  and(
    eq(rotationSlot.controlPlaneNumber, controlPlane),
    eq(rotationSlot.rule, rule),
    lte(rotationSlot.slot, slot),
    isNull(rotationSlot.doneAt),
  );
