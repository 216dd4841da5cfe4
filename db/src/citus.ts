import { storeError } from '@keywarden/runtime';
import type postgres from 'postgres';
import { isCluster } from './cluster.ts';
import { readRepeatable } from './repeatables.ts';
import { isTrue, readNumber, type Sql } from './sql.ts';

/** The tables that operations are joined with, in the order of their foreign keys. Every node has a copy of them. */
export const referenceTables = ['project', 'completed_walk'] as const;
/**
 * Tables whose rows of one project are on one node, so that a transaction on them becomes visible there as a whole: a claim of coverage must not be
 * visible before the operations that it claims. docs/adr/0017 lists what statements on them must observe.
 */
export const distributedTables = [
  'operation',
  'operation_version',
  'operation_pruned',
  'operation_coverage',
  'open_walk',
  'operation_sealing',
] as const;

/** Shards for each node that holds some, and the fewest: docs/adr/0025. */
const shardsPerNode = 4;
const fewestShards = 8;

/**
 * Distributes the operations of a migrated store by project. Returns the tables that were not distributed before; distributed ones stay
 * unchanged. Run it as the database's owner, on the coordinator of a Citus cluster, while the apps are stopped. Throws a UserError that
 * names the fix.
 */
export async function distributeOperations(sql: Sql): Promise<string[]> {
  if (!(await isTrue(sql`select exists (select from pg_proc where proname = 'create_distributed_table')`)))
    throw storeError(
      'This database has no Citus extension; run CREATE EXTENSION citus on its coordinator, or omit --citus.',
    );
  const [cluster] = await sql`
    select bool_or(groupid <> 0) and not bool_or(groupid = 0) as is_coordinator_apart from pg_catalog.pg_dist_node`;
  if (cluster?.is_coordinator_apart)
    throw storeError(
      "The coordinator is not a node of its own cluster, so it cannot join its local tables with reference tables; run select citus_set_coordinator_host('its address') there.",
    );
  const distributed: string[] = await sql.begin(async (tx) => {
    const missing: string[] = [];
    for (const table of referenceTables) if (!(await isPlaced(tx, table, 'copied'))) missing.push(table);
    for (const table of distributedTables) if (!(await isPlaced(tx, table, 'distributed'))) missing.push(table);
    if (missing.length === 0) return [];
    if (missing.includes('project')) await prepareProjects(tx);
    await tx`alter table keywarden.completed_walk drop constraint if exists completed_walk_project_number_fkey`;
    for (const table of missing) {
      const name = `keywarden.${table}`;
      if (referenceTables.some((each) => each === table)) await tx`select create_reference_table(${name})`;
      else if (table === 'operation')
        await tx`
          select create_distributed_table(${name}, 'project_number', colocate_with => 'none', shard_count => ${await countShards(tx)}::int)`;
      else await tx`select create_distributed_table(${name}, 'project_number', colocate_with => 'keywarden.operation')`;
    }
    await tx`
      alter table keywarden.completed_walk
        add constraint completed_walk_project_number_fkey foreign key (project_number) references keywarden.project`;
    await tx.unsafe(readRepeatable('91-on-a-cluster.sql'));
    return missing;
  });
  // Without this the coordinator keeps the rows that it had before. They would cost space, and nothing reads them.
  for (const table of keptLocally.filter((each) => distributed.includes(each)))
    await sql`select truncate_local_data_after_distributing_table(${`keywarden.${table}`})`;
  return distributed;
}

/** Tables whose rows the coordinator keeps after they are distributed. */
const keptLocally = [...distributedTables, 'project'];

/**
 * Lists, in words, the tables that a cluster keeps on its coordinator although this version distributes them. A cluster of an earlier version has some
 * until `migrate --citus` runs.
 */
export async function listMisplacedTables(sql: Sql): Promise<string[]> {
  if (!(await isCluster(sql))) return [];
  const rows = await sql`
    select name from unnest(${[...referenceTables, ...distributedTables]}::text[]) name
    where not exists (select from pg_catalog.pg_dist_partition where logicalrelid = ('keywarden.' || name)::regclass)`;
  const missing = rows.map(({ name }) => String(name));
  if (missing.length === 0) return [];
  return [
    `the cluster has ${missing.join(', ')} on its coordinator only, so coverage may claim operations a minute before they are visible; stop the apps and run keywarden migrate --citus`,
  ];
}

/** Returns the number of shards that fits the cluster. */
async function countShards(tx: postgres.TransactionSql): Promise<number> {
  const nodes = await readNumber(tx`
    select count(*)::int from pg_catalog.pg_dist_node where isactive and shouldhaveshards and noderole = 'primary'`);
  return Math.max(fewestShards, shardsPerNode * nodes);
}

/** Returns whether a table is already distributed as intended. Throws a UserError if it is distributed in another way. */
async function isPlaced(tx: postgres.TransactionSql, table: string, as: 'copied' | 'distributed'): Promise<boolean> {
  const [row] = await tx`
    select case when partmethod = 'h' then 'distributed' when partmethod = 'n' and repmodel = 't' then 'copied' end as how
    from pg_catalog.pg_dist_partition where logicalrelid = ${`keywarden.${table}`}::regclass`;
  if (row !== undefined && row.how !== as)
    throw storeError(
      `keywarden.${table} is not distributed in the cluster as this version requires; run select undistribute_table('keywarden.${table}'${as === 'copied' ? ', cascade_via_foreign_keys => true' : ''}) first.`,
    );
  return row !== undefined;
}

/**
 * Changes what Citus does not accept or copy when projects become a reference table. Foreign keys between local tables and those on all
 * nodes would turn half the schema into Citus tables. Neither app can delete the rows they refer to. A generated number must accept an
 * explicit value.
 */
async function prepareProjects(tx: postgres.TransactionSql): Promise<void> {
  await tx`alter table keywarden.project drop constraint if exists project_control_plane_number_fkey`;
  for (const table of ['operation_coverage', 'open_walk'])
    await tx.unsafe(`alter table keywarden.${table} drop constraint if exists ${table}_project_number_fkey`);
  await tx`alter table keywarden.project alter column number set generated by default`;
}
