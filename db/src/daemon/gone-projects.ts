import type { Sql } from '../store.ts';

/**
 * Ends the credentials of projects that are gone, or are another organization's by now: with a project go all that let somebody into it, and no list
 * of it is asked for again.
 */
export async function endCredentialsOfGoneProjects(
  sql: Sql,
  { controlPlane, seenAt, run }: { controlPlane: string; seenAt: string; run: string },
): Promise<void> {
  await sql`
    with ended as (
      update keywarden.credential k set missing_since = coalesce(k.missing_since, p.gone_at, ${seenAt}::timestamptz),
        gone_at = coalesce(p.gone_at, ${seenAt}::timestamptz)
      from keywarden.project p
      where k.control_plane_number = ${controlPlane} and k.gone_at is null and k.kind not in ('personal', 'organization', 'project')
        and p.control_plane_number = k.control_plane_number and p.id = k.project_id
        and (p.gone_at is not null or p.organization_id <> k.organization_id)
      returning k.number, k.gone_at
    )
    insert into keywarden.key_observation (key_number, run_number, seen_at, event) select number, ${run}::bigint, gone_at, 'gone' from ended`;
}
