import { ControlPlaneError, hasCode } from '@keywarden/core/client';
import { isRefusedRow, MonthNotAdded } from '@keywarden/db/daemon';
import { codeOf, UserError } from '@keywarden/runtime';

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
