/** The schema of pg-boss, beside our own. */
export const jobSchema = 'keywarden_jobs';

/** The queue of jobs that failed in all their attempts. */
export const failedQueue = 'failed';

/** A process is dead if its job sends no heartbeat for this many seconds. Another process then takes the job. */
const heartbeatSeconds = 30;

/**
 * `exclusive`: at most one job of a kind waits or runs for an account, over all replicas. The first sync of a large control plane may take
 * hours. A process that takes over a job continues where it stopped.
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
