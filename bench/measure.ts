import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Returns the seconds that the work takes, with its result. */
export async function timed<T>(work: () => T | Promise<T>): Promise<{ seconds: number; result: T }> {
  const started = performance.now();
  const result = await work();
  return { seconds: (performance.now() - started) / 1000, result };
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function residentMb(): number {
  return Math.round(process.memoryUsage.rss() / 2 ** 20);
}

/** Returns the number after `--name`, or `fallback` without it. Throws unless it is a whole number above 0. */
export function readNumber(args: string[], name: string, fallback: number): number {
  const at = args.indexOf(`--${name}`);
  if (at === -1) return fallback;
  const value = Number(args[at + 1]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`--${name} takes a whole number above 0, and "${args[at + 1] ?? ''}" is not one`);
}

/** Runs a program of ours to its end; throws if it fails. */
export async function runToEnd(file: string, args: string[]): Promise<void> {
  const main = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, main, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) process.exitCode = 1;
}

/** Returns the value below which this part of the values lie. */
export const quantile = (values: number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;
