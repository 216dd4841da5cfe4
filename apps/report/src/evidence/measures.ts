import type { z } from '@hono/zod-openapi';
import type { Measured as KeyMeasure } from '@keywarden/core/policy';
import { before, countOf, dayMs } from '@keywarden/core/values';
import * as store from '@keywarden/db/report';
import { operationGap, readOperationGaps } from '../export/operation-gaps.ts';
import type { Measure } from './controls.ts';

export interface Period {
  from: string;
  to: string;
  /** The end of the period, but at most the control plane's current time: there are no later observations. */
  asOf: string;
}

/** The result of a measure: its rows, and whether each row is an exception from the control's requirement. */
export interface Measured {
  schema: z.ZodObject;
  /** The rows, and the keys that could not be assessed. */
  batches: AsyncIterable<store.Assessed>;
  isException: boolean;
  /** An exception without a row: something that should exist and does not. */
  missing: string | null;
}

/** Reads one measure of a period from the store. */
export async function readMeasure(snapshot: store.Snapshot, measure: Measure, period: Period): Promise<Measured> {
  const { from, to, asOf } = period;
  const shown = (list: store.List) => rowsOf(snapshot, list);
  const exceptions = (of: store.InventoryKind, batches: Measured['batches']): Measured => {
    return { schema: store.assessedItems[of], batches, isException: true, missing: null };
  };
  const assessed = (of: store.InventoryKind, measured: KeyMeasure) =>
    exceptions(of, store.assess(snapshot, { of, measured, asOf }));
  const unreviewed = (of: store.InventoryKind, days: number) => {
    const since = daysBefore(asOf, days);
    const list = store.inventoryList(of, { asOf, isThere: true, notReviewedSince: since }, { organizations: null });
    const because = `no person decided about it in a review that was signed since ${since}`;
    return exceptions(of, store.judgeListed(snapshot, list, because));
  };
  // A key that one listing lacked may still exist.
  const inventory = (of: store.InventoryKind) =>
    shown(store.inventoryList(of, { asOf, isThere: true }, { organizations: null }));
  const readers: { [M in Measure as M['measure']]: (measure: M) => Measured | Promise<Measured> } = {
    inventory: () => inventory('keys'),
    idle_keys: ({ days }) => assessed('keys', { of: 'idle', days }),
    old_keys: ({ days }) => assessed('keys', { of: 'old', days }),
    unreviewed_keys: ({ days }) => unreviewed('keys', days),
    orphaned_keys: () => assessed('keys', { of: 'orphaned' }),
    credentials: () => inventory('credentials'),
    expired_credentials: () => assessed('credentials', { of: 'expired' }),
    idle_credentials: ({ days }) => assessed('credentials', { of: 'idle', days }),
    old_credentials: ({ days }) => assessed('credentials', { of: 'old', days }),
    unreviewed_credentials: ({ days }) => unreviewed('credentials', days),
    findings: async () => await readFindings(snapshot, period),
    revocations: () => shown(store.revocationList({ from, to }, null)),
    rotations: () => shown(store.rotationList({ from, to }, null)),
    exemptions: () => shown(store.exemptionList({ from, to }, null)),
    decisions: () => shown(store.planDecisionList({ from, to })),
    incidents: () => shown(store.incidentList({ openSince: from, to }, null)),
    reviewed_keys: () => shown(store.reviewItemList({ from, to })),
    reviews: async ({ within_days: days }) => await readReviews(snapshot, days, period),
    operation_counts: () => shown(store.operationBucketList({ from, to, size: 'day', by: ['action'] }, null)),
    operation_history: async ({ days }) => await readHistory(snapshot, days, period),
    access_log: () => shown(store.accessList({ from, to })),
  };
  // The table has each measure by its own name.
  const read = Reflect.get(readers, measure.measure) as (of: Measure) => Measured | Promise<Measured>;
  return await read(measure);
}

/** Returns the instant so many days before another. */
export const daysBefore = (at: string, days: number) => before(at, days * dayMs);

/**
 * Returns the period's newest plan with the findings that it had then. The same facts give the same plan again, which counts as created at that time.
 * Null if there is none, with the reason.
 */
export async function findPlanOf(
  snapshot: store.Snapshot,
  { from, to }: Period,
): Promise<{ id: string | null; missing: string | null }> {
  const [plan] = await store.readItems(
    snapshot,
    store.planList({ madeFrom: from, madeTo: to, asOf: to, isWhole: true }),
    1,
  );
  if (plan === undefined) return { id: null, missing: 'No plan was created in the period.' };
  const [kept] = await store.readItems(snapshot, store.planList({ id: plan.id, findingsTo: to }), 1);
  if (kept !== undefined) return { id: kept.id, missing: null };
  return { id: null, missing: `Plan ${plan.id} was made again after the period, with other findings.` };
}

async function readFindings(snapshot: store.Snapshot, period: Period): Promise<Measured> {
  const { id, missing } = await findPlanOf(snapshot, period);
  return rowsOf(snapshot, store.findingList({ planId: id ?? '' }, null), missing);
}

/** Returns the rows of a list, without an exception among them. */
function rowsOf(snapshot: store.Snapshot, list: store.List, missing: string | null = null): Measured {
  return { schema: list.schema, batches: toRows(snapshot.stream(list)), isException: false, missing };
}

async function* toRows(batches: AsyncIterable<string[]> | string[][]): AsyncGenerator<store.Assessed> {
  for await (const exceptions of batches) yield { exceptions, unknown: [] };
}

/** Returns the reviews signed in the period. An exception is added if none was signed in the required days before its end. */
async function readReviews(snapshot: store.Snapshot, days: number, { from, to, asOf }: Period): Promise<Measured> {
  const since = daysBefore(asOf, days);
  const recent = await store.readOne(snapshot, store.reviewList({ from: since, to, isIntact: true }));
  const missing =
    recent === undefined ? `No access review was signed in the ${countOf(days, 'day')} before ${asOf}.` : null;
  return rowsOf(snapshot, store.reviewList({ from, to }), missing);
}

/** Returns the intervals for which the archive may lack operations, in the days before the end. */
async function readHistory(snapshot: store.Snapshot, days: number, { asOf }: Period): Promise<Measured> {
  const request = { organizations: null, from: daysBefore(asOf, days), to: asOf, settledAt: asOf };
  const { holes, holes_not_named: more } = await readOperationGaps(snapshot, request);
  const missing = more === 0 ? null : `Not listed here: ${countOf(more, 'more interval')}.`;
  const items = holes.map((hole) => JSON.stringify(hole));
  return { schema: operationGap, batches: toRows([items]), isException: true, missing };
}
