/** What the daemon does by schedule. Each kind is a queue of its own, so that a long one holds up no other. */
export const jobKinds = ['keys', 'operations', 'credentials', 'sweep', 'enforce', 'rotate', 'retention'] as const;
export type JobKind = (typeof jobKinds)[number];

/** The schema of pg-boss, beside our own. */
export const jobSchema = 'keywarden_jobs';

/** Where a job goes that failed as often as it is tried. */
export const failedQueue = 'failed';

/** Without a sign of life for so long, a job's process counts as dead, and another takes the job. */
const heartbeatSeconds = 30;

/**
 * `exclusive`: of one account at most one job of a kind waits or runs, over all replicas. A first sync of a large control plane may take hours;
 * a job that another takes over goes on where it stood.
 */
export const queueSettings = {
  policy: 'exclusive',
  heartbeatSeconds,
  expireInSeconds: 86_399,
  retryLimit: 3,
  retryDelay: 15,
  retryBackoff: true,
  retryDelayMax: 240,
  deleteAfterSeconds: 3 * 86_400,
  notify: true,
  deadLetter: failedQueue,
} as const;

export const failedQueueSettings = {
  policy: 'standard',
  retryLimit: 1000,
  retryDelay: 30,
  deleteAfterSeconds: 3 * 86_400,
  notify: true,
} as const;
