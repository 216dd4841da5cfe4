import { sql } from 'drizzle-orm';
import { type List, time, visible, when, within } from '../list.ts';
import type { incidentKinds } from '../schema/incidents.ts';

export type IncidentKind = (typeof incidentKinds)[number];

export interface IncidentFilter {
  kind?: IncidentKind | undefined;
  state?: 'open' | 'closed' | undefined;
  keyNumber?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** What a person has to look at, or had, newest first. */
export function incidentList(filter: IncidentFilter, organizations: string[] | null): List {
  return {
    from: sql`keywarden.incident n left join keywarden.credential k on k.number = n.key_number
      left join keywarden.revocation_intent i on i.number = n.intent_number`,
    item: {
      id: sql`n.number::text`,
      kind: sql`n.kind`,
      state: sql`case when n.closed_at is null then 'open' else 'closed' end`,
      opened_at: time(sql`n.opened_at`),
      scope: sql`nullif(n.scope, '')`,
      key: sql`case when k.number is not null then json_build_object('number', k.number::text, 'id', k.id::text, 'name', k.name) end`,
      plan_id: sql`i.plan_id`,
      detail: sql`n.detail`,
      closed_at: time(sql`n.closed_at`),
      closed_by: sql`n.closed_by`,
      note: sql`n.note`,
    },
    where: [
      when(filter.kind, (kind) => sql`n.kind = ${kind}`),
      when(filter.state, (state) => (state === 'open' ? sql`n.closed_at is null` : sql`n.closed_at is not null`)),
      when(filter.keyNumber, (number) => sql`n.key_number = ${number}::bigint`),
      ...within(sql`n.opened_at`, filter),
      visible(
        sql`coalesce(k.organization_id, substring(n.scope from '^[0-9]+/organization:(.*)$'),
          substring(n.scope from '^[0-9]+/[a-z_]+:(.*)/[^/]*$'))`,
        organizations,
      ),
    ],
    order: [{ by: sql`n.number`, type: 'bigint' }],
    direction: 'desc',
  };
}
