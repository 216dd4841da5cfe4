import { and, desc, eq, isNull, sql as raw } from 'drizzle-orm';
import { incident, isOpenOfKey, type kindsOnceAKey } from '../schema/incidents.ts';
import { anyOf, type Db, hasValues } from '../sql.ts';
import type { IncidentKind } from './list.ts';

/** Opens an incident of a scope, or of all of them if the scope is empty. Does nothing while one of its kind is open there. */
export async function openIncident(
  db: Db,
  opened: {
    kind: 'breaker' | 'high_water_mark' | 'configuration' | 'listing_doubted';
    scope: string;
    detail: Record<string, unknown>;
  },
): Promise<void> {
  await db.insert(incident).values(opened).onConflictDoNothing();
}

/** In characters. */
const longestWhy = 2000;

/**
 * Opens the incident that the store is not what its ledger says, or puts the reason before that of the open incident: a person who closes it has to see both.
 * What a long reason loses at its end is in the ledger.
 */
export async function openLedgerIncident(db: Db, why: string): Promise<void> {
  const stored = raw`(${incident.detail} ->> 'why')`;
  const added = raw`(excluded.detail ->> 'why')`;
  await db
    .insert(incident)
    .values({ kind: 'ledger_inconsistent', scope: '', detail: { why } })
    .onConflictDoUpdate({
      target: [incident.kind, incident.scope],
      targetWhere: raw`closed_at is null and key_number is null`,
      set: {
        detail: raw`jsonb_build_object('why', left(${added} || coalesce('; ' || ${stored}, ''), ${longestWhy}::int))`,
      },
      setWhere: raw`position(${added} in coalesce(${stored}, '')) = 0`,
    });
}

type KeyIncident = { key: string; scope: string; kind: (typeof kindsOnceAKey)[number] } & (
  | { kind: 'rotation_stalled' | 'orphan'; detail: { rotation: string; why: string | null; state?: string } }
  | { kind: 'key_changed'; detail: { was: string; is: string; listed_at: string } }
);

/** Opens an incident about one key. While one of its kind is open, that incident gets the newest detail. */
export async function openIncidentOfKey(db: Db, { kind, key, scope, detail }: KeyIncident): Promise<void> {
  await db
    .insert(incident)
    .values({ kind, keyNumber: key, scope, detail })
    .onConflictDoUpdate({
      target: [incident.kind, incident.keyNumber],
      targetWhere: isOpenOfKey,
      set: { detail: raw`excluded.detail` },
      setWhere: raw`${incident.detail} is distinct from excluded.detail`,
    });
}

/** Returns the last incident of a kind about a key: whether it is open, and whether a person closed it. */
export async function readIncidentOfKey(
  db: Db,
  { kind, key }: Pick<KeyIncident, 'kind' | 'key'>,
): Promise<{ isOpen: boolean; why: string | null } | undefined> {
  const [row] = await db
    .select({ closedAt: incident.closedAt, why: raw<string | null>`${incident.detail} ->> 'why'` })
    .from(incident)
    .where(and(hasValues(incident, { kind, keyNumber: key }), raw`${incident.closedBy} is distinct from ${ourselves}`))
    .orderBy(desc(incident.number))
    .limit(1);
  return row && { isOpen: row.closedAt === null, why: row.why };
}

/** The name recorded as the closer of incidents that are settled without a person. */
const ourselves = 'keywarden';

/** One incident, or those of a kind: all of them, or those about a key or in some scopes. */
type Which = { number: string } | { kind: IncidentKind; key?: string; scopes?: string[] };

/** Closes incidents that a person has checked, or without `by` those whose cause has passed. Returns whether one of them was open. */
export async function closeIncidents(
  db: Db,
  which: Which,
  { by = ourselves, note }: { by?: string; note?: string | null } = {},
): Promise<boolean> {
  const those =
    'number' in which
      ? eq(incident.number, which.number)
      : and(
          eq(incident.kind, which.kind),
          which.key === undefined ? undefined : eq(incident.keyNumber, which.key),
          which.scopes === undefined ? undefined : anyOf(incident.scope, which.scopes),
        );
  const { number, closedAt } = incident;
  const open = db
    .select({ number })
    .from(incident)
    .where(and(those, isNull(closedAt)))
    .orderBy(number)
    .for('update');
  const closed = await db
    .update(incident)
    .set({ closedAt: raw`now()`, closedBy: by, note })
    .where(raw`${number} in ${open}`);
  return closed.count > 0;
}

/** Returns whether an incident of a kind is open anywhere. */
export async function hasOpenIncident(db: Db, kind: IncidentKind): Promise<boolean> {
  return (await db.$count(incident, hasValues(incident, { kind, closedAt: null }))) > 0;
}
