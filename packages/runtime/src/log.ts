import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import { codeOf } from './errors.ts';

export type { Logger } from 'pino';

/**
 * A logger on standard error, so that standard output stays a command's own. Errors are logged by class and code alone:
 * messages and properties of a driver's or a client's error may carry parameters.
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
  return pino({ name, level, serializers: { err: describeError } }, destination);
}

/** An error as it may be logged or stored: its class, its code, and its sentence only if it is one of ours. */
export function describeError(error: unknown): { type: string; code: string; message?: string } {
  const type = error instanceof Error ? error.name : typeof error;
  const isOurs = error instanceof Error && ['UserError', 'ControlPlaneError'].includes(error.name);
  return { type, code: codeOf(error), ...(isOurs ? { message: error.message } : {}) };
}
