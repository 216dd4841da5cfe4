import { z } from 'zod';

const common = {
  method: z.string().toUpperCase().optional(),
  path: z.string().optional(),
  after: z.int().nonnegative().default(0),
  times: z.int().positive().optional(),
};
const lateness = z.int().nonnegative().max(86_400_000);

/**
 * The faults. `status`: responds with that status, with a `message`, as a gateway's page of HTML, or with a Retry-After of seconds or a date.
 * `latency`: responds later. `drop`: cuts the connection before any work. `truncate`: sends half of the body. `lose_response`: does the work, then
 * cuts the connection. `partial_projects`: returns half of a page and lists the others as unavailable. `late_commit`: operations that the request
 * makes show in lists only `latency_ms` later, with the time at which they were made. Without method and path this includes the control plane's own
 * operations. `late_last_used`: key lists show each last use with the value of `latency_ms` ago.
 */
export const faultsSchema = z.array(
  z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('status'),
      status: z.int().min(400).max(599),
      message: z.string().optional(),
      body: z.enum(['json', 'html']).default('json'),
      retry_after: z.string().optional(),
      ...common,
    }),
    z.strictObject({ kind: z.literal('latency'), latency_ms: z.int().nonnegative().max(60_000), ...common }),
    z.strictObject({ kind: z.enum(['drop', 'truncate', 'lose_response', 'partial_projects']), ...common }),
    z.strictObject({ kind: z.literal('late_commit'), latency_ms: lateness.default(60_000), ...common }),
    z.strictObject({ kind: z.literal('late_last_used'), latency_ms: lateness.default(300_000), ...common }),
  ]),
);
export type Fault = z.infer<typeof faultsSchema>[number];

export type Faults = ReturnType<typeof createFaults>;

/** Creates the active faults. Each `match` counts against the faults that select the request, and returns the first that applies. */
export function createFaults() {
  let entries: { fault: Fault; seen: number }[] = [];
  const next = (selects: (fault: Fault) => boolean): Fault | undefined => {
    const selected = entries.filter(({ fault }) => selects(fault));
    for (const entry of selected) entry.seen += 1;
    return selected.find(({ fault, seen }) => seen > fault.after && seen <= fault.after + (fault.times ?? Infinity))
      ?.fault;
  };
  return {
    set(faults: Fault[]): void {
      entries = faults.map((fault) => ({ fault, seen: 0 }));
    },
    match: (method: string, route: string) =>
      next((fault) => (fault.method ?? method) === method && (fault.path ?? route) === route),
    /** Returns the fault for an operation that the control plane makes itself: late commits without a route. */
    matchSystem: () => next((fault) => fault.kind === 'late_commit' && (fault.method ?? fault.path) === undefined),
  };
}
