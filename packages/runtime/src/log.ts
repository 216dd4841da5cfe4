import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import { allowClosed, codeOf } from './errors.ts';

export type { Logger } from 'pino';

/**
 * Returns a logger on standard error, so that standard output contains only a command's result. Errors are logged by class and code alone: messages
 * and properties of a driver's or client's error may contain parameters. Of an error of Postgres, names of the schema are logged too.
 */
export function createLogger({
  level,
  format,
  name,
}: {
  level: string;
  format: 'pretty' | 'json' | undefined;
  name: string;
}): Logger {
  const isPretty = (format ?? (process.stderr.isTTY ? 'pretty' : 'json')) === 'pretty';
  const destination = isPretty
    ? pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' })
    : pino.destination({ dest: 2, sync: true });
  destination.on('error', allowClosed);
  return pino(
    { name, level, serializers: { err: (error: unknown) => ({ ...describeError(error), ...placeOf(error) }) } },
    destination,
  );
}

/** Returns what may be logged or stored of an error: its class, its code, and its message only if the error is ours. */
export function describeError(error: unknown): { type: string; code: string; message?: string } {
  const type = error instanceof Error ? error.name : typeof error;
  const isOurs = error instanceof Error && ['UserError', 'ControlPlaneError'].includes(error.name);
  return { type, code: codeOf(error), ...(isOurs ? { message: error.message } : {}) };
}

/** Returns where an error of Postgres arose: the table, the constraint, and its own function. None of them is data. */
function placeOf(error: unknown): Record<string, string> {
  if (!(error instanceof Error) || error.name !== 'PostgresError') return {};
  // The driver's names of these fields. Each is absent from some errors.
  const { table_name: table, constraint_name: constraint, routine } = error as Error & Record<string, unknown>;
  const names = Object.entries({ table, constraint, routine });
  return Object.fromEntries(names.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])));
}
