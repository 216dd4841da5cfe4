import { ControlPlaneError, hasCode } from '@keywarden/core/client';
import { isRefusedRow, MonthNotAdded } from '@keywarden/db/daemon';
import { codeOf, UserError } from '@keywarden/runtime';
import type { Context } from '../context.ts';
import { eachAtOnce } from './run.ts';

// Failures that concern one project, scope or organization. They do not stop the others; a credential's failure, an outage, and the end of this process
// do (R7).

/** Returns whether an error affects one project only: an unusable response, a month that cannot be added now, or a row that Postgres refuses. */
export const isOfOneProject = (error: unknown): boolean =>
  hasCode(error, 'forbidden', 'not_found', 'rejected', 'locked', 'invalid_response', 'unavailable') ||
  error instanceof MonthNotAdded ||
  isRefusedRow(error);

/** Returns whether an error affects one scope or list only. */
export const isOfOneScope = (error: unknown): boolean =>
  error instanceof UserError ||
  isRefusedRow(error) ||
  hasCode(error, 'rejected', 'locked', 'invalid_response', 'unavailable');

/** Returns whether the control plane, or the network to it, is down. */
export const isOutage = (error: unknown): boolean => hasCode(error, 'unavailable');

/** Returns an error as text, never a driver's message, which may contain rows. */
export const failureInWords = (error: unknown): string =>
  error instanceof UserError || error instanceof ControlPlaneError
    ? error.message.replace(/\.$/, '')
    : `the store cannot hold a row: ${codeOf(error)}`;

const outagesInARow = 5;

/**
 * Returns what takes the end of each project or organization of a pass: its error, or null. Throws the outage that ends the pass, the fifth in a row (R7).
 * Any other end shows that the control plane answers.
 */
export function createOutageCount(): (error: unknown) => void {
  let outages = 0;
  return (error) => {
    outages = isOutage(error) ? outages + 1 : 0;
    if (outages >= outagesInARow) throw error;
  };
}

export interface Failure {
  project: string;
  error: unknown;
}

interface EachProject<T> {
  idOf: (project: T) => string;
  work: (project: T) => Promise<void>;
  isOfOne: (error: unknown) => boolean;
  /** Called after each project, with how many are done. */
  onDone: (done: number) => void | Promise<void>;
}

/**
 * Does the work of a pass for several projects at once. Returns those that failed, and logs them: a single project may fail. If several fail in a row because
 * the control plane is down, the pass ends (R7).
 */
export async function eachProject<T>(
  { signal, log }: Context,
  projects: T[],
  { idOf, work, isOfOne, onDone }: EachProject<T>,
): Promise<Failure[]> {
  const failures: Failure[] = [];
  const countOutage = createOutageCount();
  let done = 0;
  await eachAtOnce(projects, async (project) => {
    signal.throwIfAborted();
    try {
      await work(project);
      countOutage(null);
    } catch (error) {
      if (!isOfOne(error)) throw error;
      countOutage(error);
      failures.push({ project: idOf(project), error });
    }
    done += 1;
    await onDone(done);
  });
  for (const { project, error } of failures)
    log.warn({ project, err: error }, 'a project could not be read completely');
  return failures;
}
