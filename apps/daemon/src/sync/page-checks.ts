import { ControlPlaneError } from '@keywarden/core/client';
import { compareInstants, toMs, type WireOperation } from '@keywarden/core/wire';

export const refuse = (what: string) => new ControlPlaneError('invalid_response', `a page of operations ${what}`);

/**
 * Only a short page ends a list, its rows are of the project that was asked for and go down, and each page lies below the one before: otherwise the walk would prove what is
 * not so.
 */
export function assertDescends(
  { items, rows, cursor: next }: { items: WireOperation[]; rows: number; cursor: string | null },
  { projectId, limit, place }: { projectId: string; limit: number; place: { cursor: string; below: string } | null },
): void {
  if (next !== null && rows === 0) throw refuse('is empty and has its own cursor');
  if (items.some((each) => each.projectId !== projectId)) throw refuse('has rows of another project');
  if (next === null && rows >= limit) throw refuse('is full and has no cursor');
  if (next !== null && next === place?.cursor) throw refuse('does not go on from the page before');
  let above = place?.below;
  for (const { createdAt } of items) {
    if (above !== undefined && compareInstants(createdAt, above) > 0) throw refuse('does not go down in time');
    above = createdAt;
  }
}

const day = 86_400_000;
/** Twice what the control plane keeps, in ms: nothing older comes. */
const oldestMs = 400 * day;
/** A Date has whole seconds, and the clocks of a service's servers differ. */
const aheadMs = 300_000;

/** A row's time decides what its page proves: one before its project, to come, or of years ago is a mistake. */
export function assertPossible(
  { items }: { items: WireOperation[] },
  { askedAt, projectCreatedAt }: { askedAt: string; projectCreatedAt: string },
): void {
  const nowMs = toMs(askedAt);
  const firstMs = Math.max(toMs(projectCreatedAt) - aheadMs, nowMs - oldestMs);
  for (const { createdAt } of items) {
    const atMs = toMs(createdAt);
    if (atMs < firstMs || atMs > nowMs + aheadMs) throw refuse(`has a row created ${createdAt}, which cannot be`);
  }
}
