import type postgres from 'postgres';
import type { Lease } from './locks.ts';

/**
 * The beginning of a statement that is refused (KW002) once another process has taken the lock under which this one works. What follows
 * must read `(select count(*) from held)`.
 */
export function withFence(sql: postgres.ISql, lease: Lease | undefined) {
  return sql`with held as materialized (
    select keywarden.hold_fence(${lease?.name ?? ''}, ${lease?.fence ?? null}::bigint) where ${lease !== undefined})`;
}

/** The same for a transaction. */
export async function holdFence(tx: postgres.ISql, lease: Lease | undefined): Promise<void> {
  if (lease !== undefined) await tx`select keywarden.hold_fence(${lease.name}, ${lease.fence}::bigint)`;
}
