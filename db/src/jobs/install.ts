import { sha256 } from '@keywarden/core/values';
import { jobKinds } from '@keywarden/runtime';
import { hasTable, type Sql } from '../sql.ts';
import { failedQueue, failedQueueSettings, jobSchema, queueSettings } from './queues.ts';

/** Returns whether the database has the queues of this version, and the daemon's role may use them. */
export async function hasQueues(sql: Sql): Promise<boolean> {
  const [found] = await sql`
    select obj_description(n.oid, 'pg_namespace') as says from pg_namespace n, pg_roles r
    where n.nspname = ${jobSchema} and r.rolname = 'keywarden_daemon' and has_schema_privilege(r.oid, n.oid, 'usage')`;
  return found?.says === installedQueues;
}

/** Creates or updates the queues, as the owner in one session. The daemon's role may use them, but not create or drop any (`grants`). */
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
  await distrustQueues(session);
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
  await session.unsafe(`${grants}; comment on schema ${jobSchema} is '${installedQueues}'`);
}

/**
 * Empties and resets what pg-boss executes as its own statements, if the daemon's role could write it until now: the commands in `bam`, and the
 * table names that its migrations use unquoted. The owner runs these statements.
 */
async function distrustQueues(session: Sql): Promise<void> {
  if (!(await hasTable(session, `${jobSchema}.bam`))) return;
  const [may] = await session`
    select has_table_privilege('keywarden_daemon', ${`${jobSchema}.bam`}, 'insert, update')
      or has_column_privilege('keywarden_daemon', ${`${jobSchema}.queue`}, 'table_name', 'update') as written`;
  if (!may?.written) return;
  await session.unsafe(`
    truncate ${jobSchema}.bam, ${jobSchema}.schedule, ${jobSchema}.subscription, ${jobSchema}.warning;
    update ${jobSchema}.queue set table_name = 'job_common', partition = false`);
}

/** What pg-boss updates while it works on queues, beside their jobs. */
const queueFigures = `monitor_claim_on, monitor_on, maintain_on, deferred_count, queued_count, ready_count, active_count, failed_count,
    total_count, created_delta, completed_delta, failed_delta, delta_on, delta_seconds, singletons_active, ready_history`;

/** The daemon works with jobs, and writes nothing that the owner's migration executes (commands, table names, versions). */
const grants = `
  revoke all on all tables in schema ${jobSchema} from keywarden_daemon, keywarden_report;
  revoke all on all sequences in schema ${jobSchema} from keywarden_daemon, keywarden_report;
  revoke all on all functions in schema ${jobSchema} from public, keywarden_daemon, keywarden_report;
  revoke all on schema ${jobSchema} from keywarden_report;
  grant usage on schema ${jobSchema} to keywarden_daemon;
  grant select on ${jobSchema}.version, ${jobSchema}.queue, ${jobSchema}.job, ${jobSchema}.job_common, ${jobSchema}.job_dependency
    to keywarden_daemon;
  grant insert, update, delete on ${jobSchema}.job, ${jobSchema}.job_common to keywarden_daemon;
  grant delete on ${jobSchema}.job_dependency to keywarden_daemon;
  grant update (flow_on, monitor_backoff_on) on ${jobSchema}.version to keywarden_daemon;
  grant update (${queueFigures}) on ${jobSchema}.queue to keywarden_daemon;
  grant execute on function ${jobSchema}.job_now to keywarden_daemon`;

const content = [jobKinds, queueSettings, failedQueueSettings, grants];

/**
 * The schema's comment once these queues are installed. A migration installs them when it differs: a store without the queue of a kind would refuse its jobs.
 * A test compares the version with that of the package.
 */
export const installedQueues = `pg-boss 12.35.0, queues ${sha256(JSON.stringify(content)).slice(0, 12)}`;
