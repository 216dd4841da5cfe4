interface Count {
  requests: number;
  rate_limited: number;
}

/** The response of `GET /_sandbox/stats`: requests since the last reset, by route pattern. */
export interface Stats {
  count(route: string, rateLimited: boolean): void;
  reset(): void;
  read(): Count & { by_route: Record<string, Count> };
}

export function createStats(): Stats {
  let byRoute = new Map<string, Count>();
  return {
    count(route, rateLimited) {
      const entry = byRoute.get(route) ?? { requests: 0, rate_limited: 0 };
      entry.requests += 1;
      if (rateLimited) entry.rate_limited += 1;
      byRoute.set(route, entry);
    },
    reset() {
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
