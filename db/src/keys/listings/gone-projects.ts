import { holdFence, type Lease } from '../../locks.ts';
import { reconcileIntents } from '../../revocations/revocations.ts';
import type { Sql } from '../../sql.ts';

/**
 * Ends the credentials of projects that are gone, and the open intents that this decides. A deleted project takes all access to it along.
 * No list of the project is requested again. A project that moved to another organization counts too, if the old one has not listed it for
 * two days.
 */
export async function endCredentialsOfGoneProjects(
  sql: Sql,
  { controlPlane, seenAt, run, lease }: { controlPlane: string; seenAt: string; run: string; lease: Lease | undefined },
): Promise<void> {
  const scopes = await sql.begin(async (tx) => {
    await holdFence(tx, lease);
    return await tx`
      with ended as (
        update keywarden.credential k set missing_since = coalesce(k.missing_since, p.gone_at, ${seenAt}::timestamptz),
          gone_at = coalesce(p.gone_at, ${seenAt}::timestamptz)
        from keywarden.project p
        where k.control_plane_number = ${controlPlane} and k.gone_at is null and k.kind not in ('personal', 'organization', 'project')
          and p.control_plane_number = k.control_plane_number and p.id = k.project_id
          and (p.gone_at is not null or p.organization_id <> k.organization_id and not exists (
            select from keywarden.key_listing l where l.control_plane_number = k.control_plane_number and l.scope = k.scope
              and l.listed_at > ${seenAt}::timestamptz - interval '2 days'))
        returning k.number, k.gone_at, k.scope
      ), noted as (
        insert into keywarden.key_observation (key_number, run_number, seen_at, event)
        select number, ${run}::bigint, gone_at, 'gone' from ended returning key_number
      )
      select distinct e.scope from ended e join noted n on n.key_number = e.number`;
  });
  for (const { scope } of scopes) await reconcileIntents(sql, { controlPlane, scope: String(scope) });
}
