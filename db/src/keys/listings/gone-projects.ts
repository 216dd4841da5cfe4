import { holdFence, holdList, type Lease } from '../../locks.ts';
import { reconcileIntents } from '../../revocations/revocations.ts';
import type { Sql, Tx } from '../../sql.ts';
import { scopeKeyOf } from './listing.ts';

/**
 * Ends the credentials of projects that are gone, and the open intents that this decides. A deleted project takes all access to it along.
 * No list of the project is requested again. A project that moved to another organization counts too, if the old one has not listed it for
 * two days.
 */
export async function endCredentialsOfGoneProjects(
  sql: Sql,
  { controlPlane, seenAt, run, lease }: { controlPlane: string; seenAt: string; run: string; lease: Lease | undefined },
): Promise<void> {
  /** The credentials `k` of gone projects `p`. */
  const isGone = (tx: Sql | Tx) => tx`
    k.control_plane_number = ${controlPlane} and k.gone_at is null and k.kind not in ('personal', 'organization', 'project')
    and p.control_plane_number = k.control_plane_number and p.id = k.project_id
    and (p.gone_at is not null or p.organization_id <> k.organization_id and not exists (
      select from keywarden.key_listing l where l.control_plane_number = k.control_plane_number and l.scope = k.scope
        and l.listed_at > ${seenAt}::timestamptz - interval '2 days'))`;
  const scopes = await sql`
    select distinct k.scope from keywarden.credential k, keywarden.project p where ${isGone(sql)} order by k.scope`;
  for (const { scope } of scopes) {
    await sql.begin(async (tx) => {
      await holdFence(tx, lease);
      // Another connection may still list the project.
      await holdList(tx, scopeKeyOf(controlPlane, String(scope)));
      await tx`
        with ended as (
          update keywarden.credential k set missing_since = coalesce(k.missing_since, p.gone_at, ${seenAt}::timestamptz),
            gone_at = coalesce(p.gone_at, ${seenAt}::timestamptz)
          from keywarden.project p where k.scope = ${String(scope)} and ${isGone(tx)}
          returning k.number, k.gone_at
        )
        insert into keywarden.key_observation (key_number, run_number, seen_at, event)
        select number, ${run}::bigint, gone_at, 'gone' from ended`;
    });
    await reconcileIntents(sql, { controlPlane, scope: String(scope) });
  }
}
