import type { Sql } from '../sql.ts';
import { failedQueue, failedQueueSettings, jobKinds, jobSchema, queueSettings } from './queues.ts';

/** The schema's comment once these queues are installed. A test compares the version with that of the package. */
export const installedQueues = 'pg-boss 12.35.0, queues 2';

/** Returns whether the database has the queues of this version. */
export async function hasQueues(sql: Sql): Promise<boolean> {
  const [found] = await sql`
    select obj_description(oid, 'pg_namespace') as says from pg_namespace where nspname = ${jobSchema}`;
  return found?.says === installedQueues;
}

/**
 * Creates or updates the queues and grants the daemon's role access to them. The owner runs it in one session. The daemon's role may use
 * the queues, but not create or drop any.
 */
export async function installQueues(session: Sql): Promise<void> {
  // Loaded here because every command imports this file and few of them migrate.
  const [{ PgBoss }, { overPostgres }] = await Promise.all([import('pg-boss'), import('./boss.ts')]);
  const boss = new PgBoss({
    db: overPostgres(session),
    schema: jobSchema,
    schedule: false,
    supervise: false,
    useListenNotify: false,
  });
  const failures: unknown[] = [];
  boss.on('error', (error) => failures.push(error));
  await boss.start();
  try {
    await boss.createQueue(failedQueue, failedQueueSettings);
    for (const kind of jobKinds) {
      await boss.createQueue(kind, queueSettings);
      const { policy: _fixed, ...changeable } = queueSettings;
      await boss.updateQueue(kind, changeable);
    }
  } finally {
    await boss.stop({ graceful: false, close: false });
  }
  if (failures.length > 0) throw failures[0];
  await session.unsafe(`
    grant usage on schema ${jobSchema} to keywarden_daemon, keywarden_report;
    grant select on all tables in schema ${jobSchema} to keywarden_daemon, keywarden_report;
    grant insert, update, delete on all tables in schema ${jobSchema} to keywarden_daemon;
    revoke insert, delete on ${jobSchema}.version, ${jobSchema}.queue from keywarden_daemon;
    revoke execute on all functions in schema ${jobSchema} from public;
    grant execute on all functions in schema ${jobSchema} to keywarden_daemon;
    revoke execute on function ${jobSchema}.create_queue, ${jobSchema}.delete_queue from keywarden_daemon;
    grant usage on all sequences in schema ${jobSchema} to keywarden_daemon;
    comment on schema ${jobSchema} is '${installedQueues}'`);
}
