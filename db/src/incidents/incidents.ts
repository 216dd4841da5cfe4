import { and, desc, eq, inArray, isNull, sql as raw } from 'drizzle-orm';
import { incident } from '../schema/incidents.ts';
import type { Db } from '../sql.ts';
import type { IncidentKind } from './list.ts';

/** What stops enforcement in a scope, or everywhere where it is empty. One is opened while none of its kind is open there. */
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

type KeyIncident = { key: string; scope: string } & (
  | { kind: 'rotation_stalled' | 'orphan'; detail: { rotation: string; why: string | null; state?: string } }
  | { kind: 'key_changed'; detail: { was: string; is: string; listed_at: string } }
);

/** What a person must look at of one key. While one of its kind is open, that tells the newest. */
export async function openIncidentOfKey(db: Db, { kind, key, scope, detail }: KeyIncident): Promise<void> {
  await db
    .insert(incident)
    .values({ kind, keyNumber: key, scope, detail })
    .onConflictDoUpdate({
      target: [incident.kind, incident.keyNumber],
      targetWhere: raw`closed_at is null and kind in ('rotation_stalled', 'orphan', 'key_changed')`,
      set: { detail: raw`excluded.detail` },
      setWhere: raw`${incident.detail} is distinct from excluded.detail`,
    });
}

/** What a person was told of a key last: whether that is open, and whether the person has closed it. */
export async function readIncidentOfKey(
  db: Db,
  { kind, key }: Pick<KeyIncident, 'kind' | 'key'>,
): Promise<{ isOpen: boolean; why: string | null } | undefined> {
  const [row] = await db
    .select({ closedAt: incident.closedAt, why: raw<string | null>`${incident.detail} ->> 'why'` })
    .from(incident)
    .where(
      and(
        eq(incident.kind, kind),
        eq(incident.keyNumber, key),
        raw`${incident.closedBy} is distinct from ${ourselves}`,
      ),
    )
    .orderBy(desc(incident.number))
    .limit(1);
  return row && { isOpen: row.closedAt === null, why: row.why };
}

/** Who closes what has settled without a person. */
const ourselves = 'keywarden';

type Which = Parameters<typeof and>;

async function close(db: Db, which: Which, { by = ourselves, note }: { by?: string; note?: string | null }) {
  return await db
    .update(incident)
    .set({ closedAt: raw`now()`, closedBy: by, note })
    .where(and(...which, isNull(incident.closedAt)))
    .returning({ number: incident.number });
}

/** Ends the incidents of a key that were settled. */
export async function closeIncidentsOfKey(
  db: Db,
  { kind, key, note }: { kind: KeyIncident['kind']; key: string; note: string },
): Promise<void> {
  await close(db, [eq(incident.kind, kind), eq(incident.keyNumber, key)], { note });
}

/** A person has looked. False when there is no such open incident. */
export async function closeIncident(
  db: Db,
  { number, by, note }: { number: string; by: string; note: string | null },
): Promise<boolean> {
  return (await close(db, [eq(incident.number, number)], { by, note })).length > 0;
}

/** Whether an incident of a kind is open anywhere. */
export async function hasOpenIncident(db: Db, kind: IncidentKind): Promise<boolean> {
  return (await db.$count(incident, and(eq(incident.kind, kind), isNull(incident.closedAt)))) > 0;
}

/** A person has seen all of a kind. */
export async function closeIncidentsOf(db: Db, { kind, by }: { kind: IncidentKind; by: string }): Promise<void> {
  await close(db, [eq(incident.kind, kind)], { by });
}

/** Ends what was open of a kind in a scope, and has passed. */
export async function closeIncidentsOfScope(
  db: Db,
  { kind, scope, note }: { kind: IncidentKind; scope: string; note: string },
): Promise<void> {
  await close(db, [eq(incident.kind, kind), eq(incident.scope, scope)], { note });
}

/** Ends the incidents of breakers that were found shut in these scopes: another flood there is another incident. */
export async function closeSettledBreakers(db: Db, shutScopes: string[]): Promise<void> {
  const note = 'the breaker is shut';
  await close(db, [eq(incident.kind, 'breaker'), inArray(incident.scope, shutScopes)], { note });
}
