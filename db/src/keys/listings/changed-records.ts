import { type CredentialKind, unknownCreator, type WireCredential, type WireKey } from '@keywarden/core/wire';
import { openIncidentOfKey } from '../../incidents/incidents.ts';
import { credential } from '../../schema/keys.ts';
import { builderOf, hasValues, type Tx, toJson } from '../../sql.ts';
import { type KeyListing, scopeKeyOf } from './listing.ts';

// Records whose id is known and which are another key: docs/adr/0018.

/** SQL: whether the creation time in a stored key's row is possible. A later listing may correct an impossible one. */
export const isPossible = (tx: Tx, row: 'k') => tx`(
  ${tx(row)}.created_at >= '2000-01-01' and ${tx(row)}.created_at <= ${tx(row)}.first_seen_at + interval '1 day')`;

/**
 * Ends the rows of keys whose ids this listing shows with another creation time, creator or kind. Such a record is another key. It gets
 * none of the age, use, owner or exemptions of the previous key. If an earlier row of the id has the same values, that row is current
 * again. Times are compared by the second, because the number of digits varies between answers.
 */
export async function supersede(
  tx: Tx,
  { controlPlane, scope, organizationId, listedAt, keys }: KeyListing,
): Promise<Changed[]> {
  const listed = keys.map((each) => ({
    id: each.id,
    kind: kindOf(each, organizationId),
    creator_id: each.createdBy.id,
    created_at: each.createdAt,
  }));
  const withIncoming = () => tx`with incoming as materialized (
      select * from json_to_recordset(${toJson(listed)}::json) as t(id text, kind text, creator_id text, created_at timestamptz)
    )`;
  const rows = await tx`
    ${withIncoming()}
    update keywarden.credential k set superseded_at = ${listedAt}::timestamptz, gone_at = coalesce(k.gone_at, ${listedAt}::timestamptz)
    from incoming i
    where k.control_plane_number = ${controlPlane} and k.scope = ${scope} and k.superseded_at is null and i.id = k.id
      and (k.kind <> i.kind or k.creator_id <> i.creator_id and ${unknownCreator} not in (k.creator_id, i.creator_id) or ${isPossible(tx, 'k')} and i.created_at between '2000-01-01' and
        ${listedAt}::timestamptz + interval '1 day' and date_trunc('second', k.created_at) <> date_trunc('second', i.created_at))
    returning k.id, format('%s key of %s, created %s', k.kind, k.creator_id, k.created_at) as was,
      format('%s key of %s, created %s', i.kind, i.creator_id, i.created_at) as is`;
  if (rows.length === 0) return [];
  await tx`
    ${withIncoming()}
    update keywarden.credential k set superseded_at = null where k.number in (
      select max(s.number) from keywarden.credential s join incoming i on i.id = s.id and i.kind = s.kind and i.creator_id = s.creator_id
        and date_trunc('second', i.created_at) = date_trunc('second', s.created_at)
      where s.control_plane_number = ${controlPlane} and s.scope = ${scope} and s.id = any(${rows.map((row) => String(row.id))})
      group by s.id)`;
  return rows.map((row) => ({ id: String(row.id), was: String(row.was), is: String(row.is) }));
}

interface Changed {
  id: string;
  was: string;
  is: string;
}

/** Opens an incident for each changed key. Until a person has checked it, nothing of that id is revoked. */
export async function reportChanged(
  tx: Tx,
  { controlPlane, scope, listedAt }: KeyListing,
  changed: Changed[],
): Promise<void> {
  for (const { id, ...what } of changed) {
    const db = builderOf(tx);
    const [row] = await db
      .select({ number: credential.number })
      .from(credential)
      .where(hasValues(credential, { controlPlaneNumber: controlPlane, scope, id, supersededAt: null }));
    const detail = { ...what, listed_at: listedAt };
    const place = { key: String(row?.number), scope: scopeKeyOf(controlPlane, scope) };
    await openIncidentOfKey(db, { kind: 'key_changed', ...place, detail });
  }
}

/** Returns the kind of a listed credential. A key belongs to a person, to an organization or to a project. */
export function kindOf(listed: WireKey | WireCredential, organizationId: string | null): CredentialKind {
  if ('kind' in listed) return listed.kind;
  const { projectId } = listed;
  if (organizationId === null) return 'personal';
  return projectId === null ? 'organization' : 'project';
}
