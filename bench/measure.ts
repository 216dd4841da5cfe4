import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
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

/**
 * Measures rates in turn with those of a yardstick, so that other load on the machine affects both. The first turns only warm up. Returns the medians of the
 * others, and the median of their ratios.
 */
export async function compareRates(
  { turns, warmUps = 0 }: { turns: number; warmUps?: number },
  ours: () => Promise<number>,
  yardstick: () => Promise<number>,
): Promise<{ ours: number; yardstick: number; ratio: number }> {
  const rates: { ours: number; yardstick: number }[] = [];
  for (let turn = 0; turn < warmUps + turns; turn += 1) {
    const rate = { ours: await ours(), yardstick: await yardstick() };
    if (turn >= warmUps) rates.push(rate);
  }
  return {
    ours: median(rates.map((rate) => rate.ours)),
    yardstick: median(rates.map((rate) => rate.yardstick)),
    ratio: median(rates.map((rate) => rate.ours / rate.yardstick)),
  };
}

/** Returns the resident memory of a process, in MB. */
export function residentOf(pid: number | undefined): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kilobytes) / 1024);
}

/** Runs a program of ours to its end. If it fails, so does the benchmark. */
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
