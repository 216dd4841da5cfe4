import { setTimeout } from 'node:timers/promises';
import type { WireOperation } from '../wire/schemas.ts';
import { ControlPlaneError } from './errors.ts';

/** How an operation ended. `error` counts as failed; `failed` itself is not an end, because it can still be retried. */
export interface OperationEnd {
  outcome: 'finished' | 'cancelled' | 'skipped' | 'failed';
  operation: WireOperation;
}

export interface WaitOptions {
  /** The time between two polls of one operation, in ms; 5000 as the control plane's documents suggest. */
  intervalMs?: number;
  /** The deadline for all operations, in ms; ten minutes by default. */
  deadlineMs?: number;
  signal?: AbortSignal | undefined;
}

const ends = new Map<string, OperationEnd['outcome']>([
  ['finished', 'finished'],
  ['cancelled', 'cancelled'],
  ['skipped', 'skipped'],
  ['error', 'failed'],
]);

/**
 * Polls operations until each ends, and returns the results in their order. Rejects with `timed_out` when the deadline passes first, with `aborted`
 * on the signal, and with any error of a poll.
 */
export async function waitForOperations(
  read: (operation: { projectId: string; id: string }, signal: AbortSignal) => Promise<WireOperation>,
  operations: readonly { projectId: string; id: string }[],
  { time, intervalMs = 5000, deadlineMs = 600_000, signal }: WaitOptions & { time: Time },
): Promise<OperationEnd[]> {
  const startedMs = time.now();
  const over = AbortSignal.timeout(deadlineMs);
  const either = signal ? AbortSignal.any([signal, over]) : over;
  const late = (id: string, status: string) => {
    const waitedMs = Math.round(time.now() - startedMs);
    return new ControlPlaneError('timed_out', `operation ${id} is still ${status} after ${waitedMs} ms`);
  };
  const found: OperationEnd[] = [];
  for (const operation of operations) {
    for (;;) {
      const seen = await read(operation, either).catch((error: unknown) => {
        throw over.aborted && !signal?.aborted ? late(operation.id, 'not read') : error;
      });
      const outcome = ends.get(seen.status);
      if (outcome !== undefined) {
        found.push({ outcome, operation: seen });
        break;
      }
      if (time.now() + intervalMs > startedMs + deadlineMs) throw late(operation.id, seen.status);
      await time.sleep(intervalMs, either).catch(() => {
        if (!signal?.aborted) throw late(operation.id, seen.status);
        throw new ControlPlaneError('aborted', 'the wait for an operation was aborted');
      });
    }
  }
  return found;
}

/** The clock and sleep of a client, so that tests can replace them. `now` is in milliseconds since 1970. */
export interface Time {
  now: () => number;
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export const systemTime: Time = {
  now: Date.now,
  sleep: (ms, signal) => setTimeout(ms, undefined, { signal }),
};
