import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import type { Environment } from './environment.ts';
import { allowClosed, codeOf } from './errors.ts';

export type { Logger } from 'pino';

/** How often a write to a full pipe is repeated, each time 100 ms later. After that its lines wait in memory for the next line: a reader that stops ends no work. */
const mostRetries = 10;
/** In bytes. Lines beyond are lost. */
const mostWaiting = 10_000_000;

/**
 * Returns a logger on standard error, so that standard output contains only a command's result. Errors are logged by class and code alone: messages
 * and properties of a driver's or client's error may contain parameters. Of an error of Postgres, names of the schema are logged too.
 */
export function createLogger(
  name: string,
  { LOG_LEVEL: level, LOG_FORMAT: format }: Pick<Environment, 'LOG_LEVEL' | 'LOG_FORMAT'>,
): Logger {
  const isPretty = (format ?? (process.stderr.isTTY ? 'pretty' : 'json')) === 'pretty';
  const destination = isPretty
    ? pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' })
    : createDestination();
  destination.on('error', (error: Error) => {
    if (codeOf(error) !== 'EAGAIN') allowClosed(error);
  });
  return pino(
    { name, level, serializers: { err: (error: unknown) => ({ ...describeError(error), ...placeOf(error) }) } },
    destination,
  );
}

function createDestination() {
  let retries = 0;
  const retryEAGAIN = () => (retries += 1) <= mostRetries;
  // Its stream exists then, so that a write to a full pipe fails and does not wait.
  const dest = process.stderr.fd;
  const destination = pino.destination({ dest, sync: true, retryEAGAIN, maxLength: mostWaiting });
  return destination.on('write', (bytes: number) => {
    if (bytes > 0) retries = 0;
  });
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
