/** Seconds that work takes, with what it gives. */
export async function timed<T>(work: () => T | Promise<T>): Promise<{ seconds: number; result: T }> {
  const started = performance.now();
  const result = await work();
  return { seconds: (performance.now() - started) / 1000, result };
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function residentMb(): number {
  return Math.round(process.memoryUsage.rss() / 2 ** 20);
}
