import type { WireOperation } from '../wire/schemas.ts';
import { ControlPlaneError } from './errors.ts';
import type { Time } from './time.ts';

/** How an operation ended. `error` counts as failed; `failed` itself is no end, for it can still be retried. */
export interface OperationEnd {
  outcome: 'finished' | 'cancelled' | 'skipped' | 'failed';
  operation: WireOperation;
}

export interface WaitOptions {
  /** Between two polls of one operation, in ms; 5000 as the control plane's documents suggest. */
  intervalMs?: number;
  /** For all of it, in ms; ten minutes by default. */
  deadlineMs?: number;
  signal?: AbortSignal | undefined;
}

const ends: Record<string, OperationEnd['outcome']> = {
  finished: 'finished',
  cancelled: 'cancelled',
  skipped: 'skipped',
  error: 'failed',
};

/**
 * Polls operations, each until its end, and answers in their order. Rejects with `timed_out` when the deadline passes first, with
 * `aborted` on the signal, and with whatever a poll itself fails with.
 */
export async function waitForOperations(
  read: (operation: { projectId: string; id: string }) => Promise<WireOperation>,
  operations: readonly { projectId: string; id: string }[],
  { time, intervalMs = 5000, deadlineMs = 600_000, signal }: WaitOptions & { time: Time },
): Promise<OperationEnd[]> {
  const endsAt = time.now() + deadlineMs;
  const found: OperationEnd[] = [];
  for (const operation of operations) {
    for (;;) {
      const seen = await read(operation);
      const outcome = ends[seen.status];
      if (outcome !== undefined) {
        found.push({ outcome, operation: seen });
        break;
      }
      if (time.now() + intervalMs > endsAt) {
        const message = `operation ${operation.id} is still ${seen.status} after ${deadlineMs} ms`;
        throw new ControlPlaneError('timed_out', message);
      }
      await time.sleep(intervalMs, signal).catch(() => {
        throw new ControlPlaneError('aborted', 'the wait for an operation was aborted');
      });
    }
  }
  return found;
}
