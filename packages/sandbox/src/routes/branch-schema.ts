import type { Context, Hono } from 'hono';
import { found, Refusal } from '../http/errors.ts';
import { logSequenceNumber, readInstant, readRequired } from '../http/query.ts';
import { findDatabase } from '../resources/catalog.ts';
import type { Env, State } from '../state.ts';
import { requireBranch, requireBranchId, requireProjectId } from './mutate.ts';

/** Adds the routes for the schema of a database. The sandbox has no Postgres behind it, so the schema is always `public` of its owner, without tables. */
export function branchSchemaRoutes(api: Hono<Env>, state: State): void {
  const { db } = state;

  const schemaOf = (c: Context<Env>, branchId: string): string => {
    const name = readRequired(c, 'db_name');
    const row = found(findDatabase(db, branchId, name), `database not found; database_name:"${name}"`);
    return `ALTER SCHEMA public OWNER TO ${String(row.owner_name)};\n`;
  };
  const checkPoint = (c: Context<Env>, prefix = '') => {
    const lsn = c.req.query(`${prefix}lsn`);
    if (lsn !== undefined && !logSequenceNumber.test(lsn))
      throw new Refusal(400, `parameter "${prefix}lsn" in query has an error: not a log sequence number`);
    readInstant(c, `${prefix}timestamp`);
  };

  api.get('/projects/:project_id/branches/:branch_id/schema', (c) => {
    const id = requireBranchId(c, state);
    checkPoint(c);
    const format = c.req.query('format') ?? 'sql';
    if (format !== 'sql' && format !== 'json')
      throw new Refusal(400, 'parameter "format" in query has an error: value must be sql or json');
    const sql = schemaOf(c, id);
    return c.json(format === 'sql' ? { sql } : { json: { tables: [] } });
  });

  api.get('/projects/:project_id/branches/:branch_id/compare_schema', (c) => {
    requireProjectId(c, state);
    const { id, parent_id: parent } = requireBranch(c, state);
    checkPoint(c);
    checkPoint(c, 'base_');
    const base = c.req.query('base_branch_id') ?? (parent === null ? undefined : String(parent));
    if (base === undefined)
      throw new Refusal(400, 'the branch has no parent to compare with: base_branch_id is required');
    const [from, to] = [schemaOf(c, String(requireBranch(c, state, base).id)), schemaOf(c, String(id))];
    return c.json({ diff: from === to ? '' : `--- a/schema\n+++ b/schema\n@@ -1 +1 @@\n-${from}+${to}` });
  });
}
