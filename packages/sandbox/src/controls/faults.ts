import { z } from 'zod';

const common = {
  method: z.string().toUpperCase().optional(),
  path: z.string().optional(),
  after: z.int().nonnegative().default(0),
  times: z.int().positive().optional(),
};

export const faultsSchema = z.array(
  z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('status'), status: z.int().min(400).max(599), ...common }),
    z.strictObject({ kind: z.literal('latency'), latency_ms: z.int().nonnegative().max(60_000), ...common }),
    z.strictObject({ kind: z.literal('drop'), ...common }),
    z.strictObject({ kind: z.literal('truncate'), ...common }),
    z.strictObject({ kind: z.literal('lose_response'), ...common }),
    z.strictObject({ kind: z.literal('partial_projects'), ...common }),
  ]),
);
export type Fault = z.infer<typeof faultsSchema>[number];

/** The faults in force. `match` counts the request against each that names it, and answers with the first that strikes. */
export interface Faults {
  set(faults: Fault[]): void;
  match(method: string, route: string): Fault | undefined;
}

export function createFaults(): Faults {
  let entries: { fault: Fault; seen: number }[] = [];
  return {
    set(faults) {
      entries = faults.map((fault) => ({ fault, seen: 0 }));
    },
    match(method, route) {
      const named = entries.filter(({ fault }) => names(fault, method, route));
      for (const entry of named) entry.seen += 1;
      return named.find(({ fault, seen }) => seen > fault.after && seen <= fault.after + (fault.times ?? Infinity))
        ?.fault;
    },
  };
}

function names(fault: Fault, method: string, route: string): boolean {
  return (fault.method ?? method) === method && (fault.path ?? route) === route;
}
