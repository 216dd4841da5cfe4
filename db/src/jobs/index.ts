export type { Job, PgBoss as Queues } from 'pg-boss';
export { createBoss, describeBossError, overPostgres } from './boss.ts';
export { failedQueue } from './queues.ts';
export { countUnsettled, type QueueState, readQueues, replaceFutureTimes } from './state.ts';
