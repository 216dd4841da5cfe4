import { storeError } from '@keywarden/runtime';
import { type ConstructorOptions, PgBoss, systemClock } from 'pg-boss';
import type postgres from 'postgres';
import type { Sql } from '../sql.ts';
import { jobSchema } from './queues.ts';

type IDatabase = NonNullable<ConstructorOptions['db']>;

/** Runs pg-boss's statements with our driver. The pool must have one connection: scripts of several statements open their own transactions. */
export function overPostgres(sql: Sql | postgres.ISql, { listens = false } = {}): IDatabase {
  const executeSql = async (text: string, values: unknown[] = []) => {
    // A call without values uses the simple protocol. Only that protocol takes several statements at once; their rows come in one list.
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

/** Converts a pg-boss parameter. pg-boss binds JSON as an object or as its text; our driver takes the text. The types of both meet here. */
function toParameter(value: unknown): never {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
  return (isObject ? JSON.stringify(value) : value) as never;
}

/** pg-boss waits until its clock shows a later time. If the machine's clock is set back, it would find no dead process until then. */
const clock = { ...systemClock, now: () => performance.timeOrigin + performance.now() };

/** Creates a pg-boss that creates no schema and has no schedules of its own. Its errors and warnings must have a listener each. */
export function createBoss(db: IDatabase, options: { superviseSeconds: number | null; listens: boolean }): PgBoss {
  return new PgBoss({
    db,
    clock,
    schema: jobSchema,
    schedule: false,
    migrate: false,
    createSchema: false,
    supervise: options.superviseSeconds !== null,
    useListenNotify: options.listens,
    superviseIntervalSeconds: options.superviseSeconds ?? 60,
    monitorIntervalSeconds: options.superviseSeconds ?? 60,
    // These need more permissions than the daemon's role has. They are tasks of the owner: see docs/OPERATIONS.md.
    reindex: false,
    monitorVacuum: false,
  });
}

/** Converts pg-boss's error about a schema of another version to our own error. */
export function describeBossError(error: unknown): unknown {
  if (!(error instanceof Error) || !/pg-boss (is not installed|database requires migrations)/.test(error.message))
    return error;
  return storeError('The database lacks the queues of this version of Keywarden; run keywarden migrate.', {
    cause: error,
  });
}
