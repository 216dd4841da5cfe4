import { sql as fragment } from 'drizzle-orm';
import type { Reader } from './list.ts';
import { hasTable, isTrue, type Sql } from './sql.ts';

// What the apps must know of a Citus cluster. On one server, nothing here has an effect.

const found = new WeakMap<Sql, Promise<boolean>>();

/** Returns whether the store's operations are distributed over the nodes of a cluster. Each pool asks once, because `migrate --citus` runs while the apps are stopped. */
export async function isCluster(sql: Sql): Promise<boolean> {
  const asked = found.get(sql) ?? askWhetherCluster(sql);
  found.set(sql, asked);
  return await asked.catch((error: unknown) => {
    found.delete(sql);
    throw error;
  });
}

async function askWhetherCluster(sql: Sql): Promise<boolean> {
  if (!(await hasTable(sql, 'pg_catalog.pg_dist_partition'))) return false;
  return await isTrue(sql`
    select exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'keywarden.operation'::regclass)`);
}

/**
 * Returns projects by the shard that has their operations, as numbers in the store; null as `projects` means all. Returns an empty list where there is
 * nothing to divide: on one server, and for a single project.
 */
export async function findShards(db: Reader, projects: string[] | null): Promise<string[][]> {
  if (projects?.length === 1 || (await db.isCluster?.()) !== true) return [];
  const rows = await db.execute(fragment`
    select number::text as project, get_shard_id_for_distribution_column('keywarden.operation', number)::text as shard from keywarden.project
    where ${projects === null ? fragment`true` : fragment`number = any(${fragment.param(projects)}::bigint[])`} order by number`);
  const shards = Map.groupBy(rows, ({ shard }) => String(shard));
  return [...shards.values()].map((own) => own.map(({ project }) => String(project)));
}

/** Settings of sessions for probes and metrics: a node that does not answer must be named before the probe itself gives up, in ms. */
export const probeSettings = { 'citus.node_connection_timeout': 1000 };

/** Lists the nodes of the cluster beside its coordinator, as `host:port`, and whether they answer. On one server the list is empty. */
export async function listNodes(sql: Sql): Promise<{ name: string; answers: boolean }[]> {
  if (!(await isCluster(sql))) return [];
  const rows = await sql`
    select nodename || ':' || nodeport as name, success as answers from run_command_on_workers('select 1') order by 1`;
  return rows.map(({ name, answers }) => ({ name: String(name), answers: answers === true }));
}

/** Returns, in words, which nodes of the cluster do not answer; null if all do. */
export async function whyNodesMissing(sql: Sql): Promise<string | null> {
  const silent = (await listNodes(sql)).filter(({ answers }) => !answers).map(({ name }) => name);
  if (silent.length === 0) return null;
  return `the coordinator of the store's cluster gets no answer from ${silent.join(' and ')}; start what is stopped, and check the network between them`;
}
