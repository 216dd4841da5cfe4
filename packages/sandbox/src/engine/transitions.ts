import type { Random } from '../store/random.ts';
import { MINUTE, type Micros, SECOND } from '../store/time.ts';

export type Status =
  | 'scheduling'
  | 'running'
  | 'finished'
  | 'failed'
  | 'error'
  | 'cancelling'
  | 'cancelled'
  | 'skipped';

/** How an operation will go, drawn when it is made: done at once, done after a failure, given up on, cancelled, or skipped. */
export type Outcome = 'finish' | 'retry' | 'error' | 'cancel' | 'skip';

const troubles: readonly Outcome[] = ['retry', 'retry', 'retry', 'error', 'cancel', 'skip'];

/** Most operations finish; `trouble` is the share of those that do not go straight there. */
export function drawOutcome(random: Random, trouble: number): Outcome {
  return random.chance(trouble) ? random.pick(troubles) : 'finish';
}

/** The status that follows, or null at an end. `failures` counts those so far: what is retried fails once. */
export function nextStatus(status: Status, outcome: Outcome, failures: number): Status | null {
  switch (status) {
    case 'scheduling':
      return outcome === 'skip' ? 'skipped' : 'running';
    case 'running':
      if (outcome === 'cancel') return 'cancelling';
      if (outcome === 'error') return 'error';
      return outcome === 'retry' && failures === 0 ? 'failed' : 'finished';
    case 'failed':
      return 'running';
    case 'cancelling':
      return 'cancelled';
    case 'finished':
    case 'error':
    case 'cancelled':
    case 'skipped':
      return null;
    default:
      return status satisfies never;
  }
}

/** How long an action runs, in seconds: about what a person who waits for it would see, and short enough to wait for. */
const seconds: Record<string, number> = {
  create_timeline: 0.6,
  create_branch: 0.3,
  start_compute: 0.5,
  suspend_compute: 0.2,
  apply_config: 0.3,
  check_availability: 1.5,
};

/** How long an operation stays in a status before the next. */
export function stay(status: Status, action: string, random: Random): Micros {
  if (status === 'failed') return MINUTE;
  return Math.round((seconds[action] ?? 0.4) * (0.8 + 0.4 * random.next()) * SECOND);
}

export function isFinal(status: Status): boolean {
  return nextStatus(status, 'finish', 0) === null;
}
