import { compareInstants, secondOf } from '@keywarden/core/values';
import { type WireOperation } from '@keywarden/core/wire';
import { type Lease, withFence } from '../locks.ts';
import { lastOfEach, packExtra, type Sql, toArray, toJson } from '../sql.ts';
import { withPartitions } from './partitions.ts';

/** That every operation of a project between two times is known (A2). `below` is excluded. */
export interface Proof {
  from: string;
  isFromIncluded: boolean;
  below: string;
}

/** How far a walk is with a page. */
export interface WalkStep {
  /** The control plane's time when the walk began. */
  beganAt: string;
  /** Below this the walk may stop; null when it goes to the end. */
  floor: string | null;
  /** The next page's cursor, as the control plane gave it, and the time of the row that it is of; null when the walk is done. */
  next: { cursor: string; below: string } | null;
  /** The oldest time that the walk has seen. */
  reached: string;
  /** It has come to the end of the list. */
  isEnd: boolean;
}

export interface OperationPage {
  /** The project's number in the store. */
  project: string;
  operations: WireOperation[];
  proof?: Proof | null;
  /** Absent for operations that no walk has read. */
  walk?: WalkStep;
  /** The page is refused, whole, if another process has taken the lock since. */
  lease?: Lease | undefined;
}

/**
 * Writes a page of a project's operations, what it proves and how far its walk is, in one statement of one transaction (A3). Writing a
 * page twice changes nothing (A5). Makes the partitions of its months first.
 */
export async function saveOperationPage(sql: Sql, page: OperationPage): Promise<{ inserted: number; changed: number }> {
  const createdAts = page.operations.map(({ createdAt }) => createdAt);
  return await withPartitions(sql, createdAts, async () => await write(sql, page));
}

async function write(
  sql: Sql,
  { project, operations, proof = null, walk, lease }: OperationPage,
): Promise<{ inserted: number; changed: number }> {
  // Oldest first, as the indexes have them: that takes a tenth less than the order in which they came.
  const page = lastOfEach(operations, ({ id, createdAt }) => `${id} ${secondOf(createdAt)}`).toReversed();
  const [written] = await sql`
    ${withFence(sql, lease)}
    select inserted, changed, (select count(*) from held) from keywarden.save_operation_page(${project}, ${toArray(page, (row) => row.id)}::uuid[],
      ${toArray(page, (row) => row.branchId)}::text[], ${toArray(page, (row) => row.endpointId)}::text[],
      ${toArray(page, (row) => row.action)}::text[], ${toArray(page, (row) => row.status)}::text[],
      ${toArray(page, (row) => row.failuresCount)}::bigint[], ${toArray(page, (row) => row.error)}::text[],
      ${toArray(page, (row) => row.retryAt)}::timestamptz[], ${toArray(page, (row) => row.createdAt)}::timestamptz[],
      ${toArray(page, (row) => row.updatedAt)}::timestamptz[], ${toArray(page, (row) => row.totalDurationMs)}::bigint[],
      ${toArray(page, extraOf)}::jsonb[],
      ${oldestOf(page)}::timestamptz, ${newestOf(page)}::timestamptz, ${rangeOf(proof)}::tstzrange, ${walk?.beganAt ?? null}::timestamptz,
      ${walk?.floor ?? null}::timestamptz, ${walk?.next?.cursor ?? null}, ${walk?.next?.below ?? null}::timestamptz,
      ${walk?.reached ?? null}::timestamptz, ${walk?.isEnd ?? null}::boolean)`;
  return { inserted: Number(written?.inserted), changed: Number(written?.changed) };
}

const oldestOf = (page: WireOperation[]) =>
  page.reduce<string | null>(
    (at, { createdAt }) => (at !== null && compareInstants(at, createdAt) <= 0 ? at : createdAt),
    null,
  );
const newestOf = (page: WireOperation[]) =>
  page.reduce<string | null>(
    (at, { createdAt }) => (at !== null && compareInstants(at, createdAt) >= 0 ? at : createdAt),
    null,
  );

/** As Postgres spells it. A proof of nothing is none. */
function rangeOf(proof: Proof | null): string | null {
  if (proof === null || compareInstants(proof.from, proof.below) >= 0) return null;
  return `${proof.isFromIncluded ? '[' : '('}${proof.from},${proof.below})`;
}

function extraOf({ extra, createdAt, updatedAt, retryAt }: WireOperation): string | null {
  const packed = packExtra(extra, { created_at: createdAt, updated_at: updatedAt, retry_at: retryAt });
  return packed === null ? null : toJson(packed);
}

/** Marks an operation that was going on when the control plane stopped to serve it. What was seen of it stays (A6). */
export async function markOperationPruned(
  sql: Sql,
  { project, createdAt, id }: { project: string; createdAt: string; id: string },
): Promise<void> {
  await sql`
    insert into keywarden.operation_pruned (project_number, created_at, id) values (${project}, ${createdAt}::timestamptz, ${id})
    on conflict (project_number, created_at, id) do nothing`;
}
