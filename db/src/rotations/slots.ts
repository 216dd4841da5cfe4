import type { Sql } from '../sql.ts';

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
export async function isSlotDue(sql: Sql, { controlPlane, rule, slot }: Slot): Promise<boolean> {
  await sql`
    insert into keywarden.rotation_slot (control_plane_number, rule, slot, done_at)
    select ${controlPlane}, ${rule}, ${slot}::timestamptz, case when exists (
      select from keywarden.rotation_slot where control_plane_number = ${controlPlane} and rule = ${rule} and slot < ${slot}::timestamptz
        and not exists (select from keywarden.rotation_slot l where l.control_plane_number = ${controlPlane} and l.rule = ${rule}
          and l.slot > ${slot}::timestamptz)) then null else now() end
    on conflict do nothing`;
  const [row] = await sql`
    select 1 from keywarden.rotation_slot
    where control_plane_number = ${controlPlane} and rule = ${rule} and slot <= ${slot}::timestamptz and done_at is null limit 1`;
  return row !== undefined;
}

/** All that was due at a time, or before, has been begun. */
export async function endSlot(sql: Sql, { controlPlane, rule, slot }: Slot): Promise<void> {
  await sql`
    update keywarden.rotation_slot set done_at = now()
    where control_plane_number = ${controlPlane} and rule = ${rule} and slot <= ${slot}::timestamptz and done_at is null`;
}
