import type postgres from 'postgres';
import type { Lease } from './locks.ts';

/**
 * The beginning of a statement that is refused (KW002) once another process has taken the lock under which this one works. What follows
 * must read `(select count(*) from held)`.
 */
export function withFence(sql: postgres.ISql, lease: Lease | undefined) {
  const leases = allOf(lease);
  return sql`with held as materialized (
    select keywarden.hold_fence(name, fence)
    from unnest(${leases.map(({ name }) => name)}::text[], ${leases.map(({ fence }) => fence)}::bigint[]) as l(name, fence))`;
}

/** The same for a transaction. */
export async function holdFence(tx: postgres.ISql, lease: Lease | undefined): Promise<void> {
  for (const { name, fence } of allOf(lease)) await tx`select keywarden.hold_fence(${name}, ${fence}::bigint)`;
}

/** A lease, with those within which it was taken. */
function allOf(lease: Lease | undefined): Lease[] {
  return lease === undefined ? [] : [lease, ...allOf(lease.outer)];
}
