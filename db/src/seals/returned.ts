import type { Tx } from '../sql.ts';

/**
 * Has the days since these projects went missing sealed again, because they are back: the seal of the first one ends with the project. Called before they
 * count as there.
 */
export async function markReturnedProjects(
  tx: Tx,
  { controlPlane, ids }: { controlPlane: string; ids: string[] },
): Promise<void> {
  const rows = await tx`
    select number::text, (missing_since at time zone 'UTC')::date::text as day, now()::text as now from keywarden.project
    where control_plane_number = ${controlPlane} and id = any(${ids}) and missing_since is not null`;
  for (const { number, day, now } of rows)
    await tx`
      update keywarden.operation_sealing set changed_at = coalesce(changed_at, ${String(now)}::timestamptz),
        changed = changed + datemultirange(daterange(${String(day)}::date, sealed_to))
      where project_number = ${String(number)} and sealed_to > ${String(day)}::date`;
}
