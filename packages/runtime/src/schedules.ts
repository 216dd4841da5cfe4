/** The scheduled jobs of the daemon, each with its default cron expression in UTC. Each has a queue of its own, so that a long job delays no other kind. */
export const defaultSchedules = {
  keys: '*/15 * * * *',
  operations: '*/15 * * * *',
  credentials: '40 3 * * *',
  sweep: '20 4 * * *',
  enforce: '10 * * * *',
  rotate: '25 * * * *',
  retention: '50 4 * * *',
};

export type JobKind = keyof typeof defaultSchedules;
export const jobKinds = Object.keys(defaultSchedules) as JobKind[]; // its literal has no other names
