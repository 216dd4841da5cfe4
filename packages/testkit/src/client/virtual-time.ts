/** How often the event loop turns while nothing sleeps, before work counts as stuck. */
const mostIdleTurns = 1000;

/**
 * Returns a clock that advances only through sleeps, and only while no request is in flight: requests take no time. Sleeps end in the order of their
 * times, as real ones do.
 */
export function virtualTime(startMs = Date.parse('2026-06-15T12:00:07.300Z')) {
  const onTheirWay = { count: 0 };
  let nowMs = startMs;
  const sleepers: { at: number; wake: () => void }[] = [];
  let isMoving = false;
  const move = async () => {
    isMoving = true;
    while (sleepers.length > 0) {
      // Everything that can proceed without waiting proceeds before time advances.
      do await new Promise((resolve) => setImmediate(resolve));
      while (onTheirWay.count > 0);
      sleepers.sort((a, b) => a.at - b.at);
      const next = sleepers.shift();
      if (next === undefined) break;
      nowMs = Math.max(nowMs, next.at);
      next.wake();
    }
    isMoving = false;
  };
  return {
    now: () => nowMs,
    /** Returns what the work returns. Throws if it waits for something that never happens: nothing sleeps, and no request is in flight. */
    async finish<T>(work: Promise<T>): Promise<T> {
      const ended = work.then(
        () => true,
        () => true,
      );
      for (let idle = 0; idle < mostIdleTurns; idle = isMoving || onTheirWay.count > 0 ? 0 : idle + 1) {
        const turn = new Promise<false>((resolve) => setImmediate(() => resolve(false)));
        if (await Promise.race([ended, turn])) return await work;
      }
      throw new Error('the work waits for something that never happens');
    },
    fetch: async (...request: Parameters<typeof fetch>) => {
      onTheirWay.count += 1;
      return await fetch(...request).finally(() => {
        onTheirWay.count -= 1;
      });
    },
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        if (signal?.aborted) {
          setImmediate(() => reject(signal.reason));
          return;
        }
        const sleeper = { at: nowMs + ms, wake: resolve };
        signal?.addEventListener('abort', () => {
          const index = sleepers.indexOf(sleeper);
          if (index !== -1) sleepers.splice(index, 1);
          reject(signal.reason);
        });
        sleepers.push(sleeper);
        if (!isMoving) void move();
      }),
  };
}
