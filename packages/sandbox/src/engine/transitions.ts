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

/** The course of an operation, drawn when it is made: done at once, done after a failure, given up, cancelled, or skipped. */
export type Outcome = 'finish' | 'retry' | 'error' | 'cancel' | 'skip';

const troubles: readonly Outcome[] = ['retry', 'retry', 'retry', 'error', 'cancel', 'skip'];

/** Draws an outcome. Most operations finish; `trouble` is the share that does not finish directly. */
export function drawOutcome(random: Random, trouble: number): Outcome {
  return random.chance(trouble) ? random.pick(troubles) : 'finish';
}

/** Returns the next status, or null at an end. `failures` counts the failures so far; a retried operation fails once. */
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

/** The duration of each action, in seconds: about what a person would see, and short enough to wait for. */
const seconds: Record<string, number> = {
  create_timeline: 0.6,
  create_branch: 0.3,
  start_compute: 0.5,
  suspend_compute: 0.2,
  apply_config: 0.3,
  check_availability: 1.5,
};

/** Returns how long an operation stays in a status before the next. */
export function stay(status: Status, action: string, random: Random): Micros {
  if (status === 'failed') return MINUTE;
  return Math.round((seconds[action] ?? 0.4) * (0.8 + 0.4 * random.next()) * SECOND);
}

export function isFinal(status: Status): boolean {
  return nextStatus(status, 'finish', 0) === null;
}
