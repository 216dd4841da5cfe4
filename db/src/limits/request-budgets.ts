import { isTrue, type Sql } from '../sql.ts';

/**
 * The rows in which the limiters of all replicas count their requests: one for each account, and one for each of its routes. The clock is
 * the database's.
 */
export function createBudgetRows(sql: Sql) {
  return {
    async read(keys: string[]) {
      const [read] = await sql`
        select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms,
          (select json_agg(json_build_object('key', name, 'version', version::text, 'state', state))
            from keywarden.request_budget where name = any(${keys})) as rows`;
      const rows = (read?.rows ?? []) as { key: string; version: string; state: unknown }[];
      return {
        nowMs: Number(read?.now_ms),
        rows: new Map(rows.map(({ key, version, state }) => [key, { version, state }])),
      };
    },
    async save(rows: { key: string; version: string; state: unknown }[]) {
      return await isTrue(sql`
        select keywarden.save_request_budgets(${rows.map(({ key }) => key)}, ${rows.map(({ version }) => version)}::bigint[],
          ${rows.map(({ state }) => JSON.stringify(state))}::text[]::jsonb[])`);
    },
  };
}
