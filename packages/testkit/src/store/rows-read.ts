import { openStore, type Store } from '@keywarden/db/store';

/**
 * Opens a store with one connection, and turns the statistics of a table and its months off. `countRead` returns how many rows of the table and how many entries
 * of its indexes Postgres reads during some work. Only work on this connection is counted exactly: another one reports its own later.
 */
export async function openWithoutStatistics(
  url: string,
  table: string,
): Promise<Store & { countRead: (work: () => Promise<unknown>) => Promise<number> }> {
  const store = await openStore({
    databaseUrl: url,
    dataFolder: '',
    applicationName: 'tests',
    migrations: 'none',
    maxConnections: 1,
  });
  const { sql } = store;
  const tables = await sql`
    select relname from pg_class
    where relnamespace = 'keywarden'::regnamespace and relkind = 'r' and relname ~ ${`^${table}(_\\d{4}_\\d\\d)?$`}`;
  const names = tables.map(({ relname }) => String(relname));
  for (const name of names) await sql`alter table keywarden.${sql(name)} set (autovacuum_enabled = false)`;
  const readCount = async () => {
    await sql`select pg_stat_force_next_flush()`;
    const [row] = await sql`
      select (select sum(seq_tup_read) from pg_stat_user_tables where relname = any(${names}))
        + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = any(${names})) as n`;
    return Number(row?.n);
  };
  return {
    ...store,
    async countRead(work) {
      const before = await readCount();
      await work();
      return (await readCount()) - before;
    },
  };
}
