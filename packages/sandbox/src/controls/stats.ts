export type Stats = ReturnType<typeof createStats>;

/** Counts requests by route pattern. `read` returns those since the last reset, as `GET /_sandbox/stats` does. */
export function createStats() {
  let byRoute = new Map<string, { requests: number; rate_limited: number }>();
  return {
    count(route: string, rateLimited: boolean): void {
      const entry = byRoute.get(route) ?? { requests: 0, rate_limited: 0 };
      entry.requests += 1;
      if (rateLimited) entry.rate_limited += 1;
      byRoute.set(route, entry);
    },
    reset(): void {
      byRoute = new Map();
    },
    read() {
      const counts = [...byRoute.values()];
      return {
        requests: counts.reduce((sum, entry) => sum + entry.requests, 0),
        rate_limited: counts.reduce((sum, entry) => sum + entry.rate_limited, 0),
        by_route: Object.fromEntries([...byRoute].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      };
    },
  };
}
