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
    fetch: async (...request: Parameters<typeof fetch>) => {
      onTheirWay.count += 1;
      return await fetch(...request).finally(() => {
        onTheirWay.count -= 1;
      });
    },
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
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
