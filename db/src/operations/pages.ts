import { compareInstants, roundedMicros, secondOf } from '@keywarden/core/values';
import type { WireOperation } from '@keywarden/core/wire';
import { codeOf } from '@keywarden/runtime';
import { type Lease, withFence } from '../locks.ts';
import { operationPruned } from '../schema/operations.ts';
import { builderOf, lastOfEach, packExtra, type Sql, sqlState, toArray, toJson } from '../sql.ts';
import { withPartitions } from './partitions.ts';

/** A proof that every operation of a project between two times is stored (A2). `below` is excluded. */
export interface Proof {
  from: string;
  isFromIncluded: boolean;
  below: string;
}

/** A row that a list shows and that cannot be read: its id, if that can be read, and the times of its neighbours. Its own time is one of them, or between them. */
export interface UnreadRow {
  id: string | null;
  from: string;
  to: string;
}

/** The progress of a walk at one page. */
interface WalkStep {
  /** The control plane's time when the walk began. */
  beganAt: string;
  /** Below this the walk may stop; null if it goes to the end. */
  floor: string | null;
  /** The next page's cursor as received, and the time of the row that it points to; null when the walk is done. */
  next: { cursor: string; below: string } | null;
  /** The oldest time that the walk has reached. */
  reached: string;
  /** True if the walk has reached the end of the list. */
  isEnd: boolean;
}

export interface OperationPage {
  /** The project's number in the store. */
  project: string;
  operations: WireOperation[];
  proof?: Proof | null;
  /** What the archive had claimed of their times is taken back, unless it has a row of that id there. */
  unread?: UnreadRow[];
  /** Absent for operations that were not read by a walk. */
  walk?: WalkStep;
  /** The whole page is refused if another process has taken the lock since. */
  lease?: Lease | undefined;
}

/** Writes a page of operations with its proof and the walk's progress in one transaction (A3). Twice changes nothing (A5). */
export async function saveOperationPage(sql: Sql, page: OperationPage): Promise<{ inserted: number; changed: number }> {
  const createdAts = page.operations.map(({ createdAt }) => createdAt);
  return await withPartitions(sql, createdAts, async () => {
    // On a cluster, a page whose commit was cut becomes visible on its node a minute late. A page of the same rows waits for it, then meets them as
    // duplicates or changed. Written again, it sees them.
    return await write(sql, page).catch(async (error: unknown) => {
      if (![sqlState.uniqueViolation, sqlState.serializationFailure].some((code) => code === codeOf(error)))
        throw error;
      return await write(sql, page);
    });
  });
}

async function write(
  sql: Sql,
  { project, operations, proof = null, unread = [], walk, lease }: OperationPage,
): Promise<{ inserted: number; changed: number }> {
  // Oldest first, as in the indexes. That takes a tenth less time than the order in which the rows came.
  const page = lastOfEach(operations, ({ id, createdAt }) => `${id} ${secondOf(createdAt)}`).toReversed();
  const createdAts = page.map(({ createdAt }) => createdAt).toSorted(compareInstants);
  const [written] = await sql`
    ${withFence(sql, lease)}
    select inserted, changed, (select count(*) from held) from keywarden.save_operation_page(
      project => ${project},
      each_id => ${toArray(page, (row) => row.id)}::uuid[],
      each_branch_id => ${toArray(page, (row) => row.branchId)}::text[],
      each_endpoint_id => ${toArray(page, (row) => row.endpointId)}::text[],
      each_action => ${toArray(page, (row) => row.action)}::text[],
      each_status => ${toArray(page, (row) => row.status)}::text[],
      each_failures_count => ${toArray(page, (row) => row.failuresCount)}::bigint[],
      each_error => ${toArray(page, (row) => row.error)}::text[],
      each_retry_at => ${toArray(page, (row) => row.retryAt)}::timestamptz[],
      each_created_at => ${toArray(page, (row) => row.createdAt)}::timestamptz[],
      each_updated_at => ${toArray(page, (row) => row.updatedAt)}::timestamptz[],
      each_total_duration_ms => ${toArray(page, (row) => row.totalDurationMs)}::bigint[],
      each_extra => ${toArray(page, extraOf)}::jsonb[],
      each_place => ${toArray(placesOf(page), (place) => place || null)}::int[],
      oldest => ${createdAts[0] ?? null}::timestamptz,
      newest => ${createdAts.at(-1) ?? null}::timestamptz,
      proved => ${rangeOf(proof)}::tstzrange,
      unread => ${unread.length === 0 ? null : toJson(unread)}::jsonb,
      walk_began => ${walk?.beganAt ?? null}::timestamptz,
      walk_floor => ${walk?.floor ?? null}::timestamptz,
      next_cursor => ${walk?.next?.cursor ?? null},
      next_below => ${walk?.next?.below ?? null}::timestamptz,
      reached => ${walk?.reached ?? null}::timestamptz,
      is_end => ${walk?.isEnd ?? null}::boolean)`;
  return { inserted: Number(written?.inserted), changed: Number(written?.changed) };
}

/** Returns a proof as a Postgres range. An empty proof is null. */
function rangeOf(proof: Proof | null): string | null {
  if (proof === null || compareInstants(proof.from, proof.below) >= 0) return null;
  return `${proof.isFromIncluded ? '[' : '('}${proof.from},${proof.below})`;
}

/** Returns how many rows before each one have its time, as Postgres stores it. */
function placesOf(page: WireOperation[]): number[] {
  const seen = new Map<number, number>();
  return page.map(({ createdAt }) => {
    const time = roundedMicros(createdAt);
    const place = seen.get(time) ?? 0;
    seen.set(time, place + 1);
    return place;
  });
}

function extraOf({ extra, createdAt, updatedAt, retryAt }: WireOperation): string | null {
  const packed = packExtra(extra, { created_at: createdAt, updated_at: updatedAt, retry_at: retryAt });
  return packed === null ? null : toJson(packed);
}

/** Marks an operation that was going on when the control plane stopped serving it. Its stored versions stay (A6). */
export async function markOperationPruned(
  sql: Sql,
  { project, createdAt, id }: { project: string; createdAt: string; id: string },
): Promise<void> {
  await builderOf(sql).insert(operationPruned).values({ projectNumber: project, createdAt, id }).onConflictDoNothing();
}
