import { UserError } from '@keywarden/runtime';
import { type ConstructorOptions, PgBoss } from 'pg-boss';
import type postgres from 'postgres';
import type { Sql } from '../sql.ts';
import { jobSchema } from './queues.ts';

type IDatabase = NonNullable<ConstructorOptions['db']>;

/** pg-boss's statements over our driver. The pool must be of one connection: scripts of several statements open transactions of their own. */
export function overPostgres(sql: Sql | postgres.ISql, { listens = false } = {}): IDatabase {
  const executeSql = async (text: string, values: unknown[] = []) => {
    // Without values it is the simple protocol, which alone takes several statements at once; their rows come in one list.
    const answer =
      values.length === 0 ? await sql.unsafe(text).simple() : await sql.unsafe(text, values.map(toParameter));
    return { rows: [...answer].flat() };
  };
  if (!listens || !('listen' in sql)) return { executeSql };
  return {
    executeSql,
    async listen(channel, onNotification, onReconnect) {
      const listening = await sql.listen(channel, onNotification, onReconnect);
      return { close: () => listening.unlisten() };
    },
  };
}

/** pg-boss binds what any driver takes, and JSON as an object or as its text; ours takes the text. The types of both meet here. */
function toParameter(value: unknown): never {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
  return (isObject ? JSON.stringify(value) : value) as never;
}

/** A pg-boss that makes no schema and has no schedules of its own. Its errors and warnings must have a listener each. */
export function createBoss(db: IDatabase, options: { superviseSeconds: number | null; listens: boolean }): PgBoss {
  return new PgBoss({
    db,
    schema: jobSchema,
    schedule: false,
    migrate: false,
    createSchema: false,
    supervise: options.superviseSeconds !== null,
    useListenNotify: options.listens,
    superviseIntervalSeconds: options.superviseSeconds ?? 60,
    monitorIntervalSeconds: options.superviseSeconds ?? 60,
    // These ask for more than the daemon's role may, and are the owner's: see docs/OPERATIONS.md.
    reindex: false,
    monitorVacuum: false,
  });
}

/** What pg-boss says of a schema that is not its own version's, as ours. */
export function describeBossError(error: unknown): unknown {
  if (!(error instanceof Error) || !/pg-boss (is not installed|database requires migrations)/.test(error.message))
    return error;
  return new UserError('store', 'The database lacks the queues of this version of Keywarden; run keywarden migrate.', {
    exit: 2,
    cause: error,
  });
}
