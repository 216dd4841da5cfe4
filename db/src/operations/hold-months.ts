import type { Tx } from '../sql.ts';

/**
 * Keeps the months of operations until the transaction ends. Call it before its first query: a snapshot that has begun would claim a month that is dropped
 * meanwhile, and lack its operations.
 */
export async function holdMonths(tx: Tx): Promise<void> {
  await tx`lock table only keywarden.operation, only keywarden.operation_version in access share mode`;
}
