import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { instant, json } from '../item.ts';
import { shortReference, shortReferenceToKey } from '../keys/reference.ts';
import { type FilterOf, isNumber, listOf, matching, type Reader, readItems, visible, within } from '../list.ts';
import { incidentKinds } from '../schema/incidents.ts';

export type IncidentKind = (typeof incidentKinds)[number];

export const incidentItem = z
  .strictObject({
    id: z.string(),
    kind: z.enum(incidentKinds),
    state: z.enum(['open', 'closed']),
    opened_at: instant,
    scope: z.string().nullable(),
    key: shortReference.nullable(),
    plan_id: z.string().nullable(),
    detail: json,
    closed_at: instant.nullable(),
    closed_by: z.string().nullable(),
    note: z.string().nullable(),
  })
  .meta({ id: 'Incident' });

export type Incident = z.output<typeof incidentItem>;

const filters = {
  kind: (kind: IncidentKind) => sql`n.kind = ${kind}`,
  state: (state: Incident['state']) => (state === 'open' ? sql`n.closed_at is null` : sql`n.closed_at is not null`),
  key: isNumber('n.key_number'),
  ...within(sql`n.opened_at`),
  /** Incidents that were still open at this time, and later ones. */
  openSince: (at: string) => sql`(n.closed_at is null or n.closed_at >= ${at}::timestamptz)`,
};

/** Lists the incidents that a person has to check or has checked, newest first. */
export function incidentList(filter: FilterOf<typeof filters>, organizations: string[] | null) {
  return listOf(incidentItem, 'n', {
    from: sql`keywarden.incident n left join keywarden.credential k on k.number = n.key_number
      left join keywarden.revocation_intent i on i.number = n.intent_number`,
    item: {
      id: sql`n.number::text`,
      state: sql`case when n.closed_at is null then 'open' else 'closed' end`,
      scope: sql`nullif(n.scope, '')`,
      key: sql`case when k.number is not null then ${shortReferenceToKey} end`,
      plan_id: sql`i.plan_id`,
    },
    where: [
      ...matching(filters, filter),
      visible(
        sql`coalesce(k.organization_id, substring(n.scope from '^[0-9]+/organization:(.*)$'),
          substring(n.scope from '^[0-9]+/[a-z_]+:(.*)/[^/]*$'))`,
        organizations,
      ),
    ],
  });
}

/** Lists at most `limit` incidents: open ones first, then the newest. */
export async function listIncidents(
  db: Reader,
  { isOpen, limit }: { isOpen: boolean; limit: number },
): Promise<Incident[]> {
  const open = await readItems(db, incidentList({ state: 'open' }, null), limit);
  if (isOpen) return open;
  return [...open, ...(await readItems(db, incidentList({ state: 'closed' }, null), limit - open.length))];
}
