import { setTimeout } from 'node:timers/promises';

/** The clock and sleep of a client, so that tests can replace them. `now` is in milliseconds since 1970. */
export interface Time {
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemTime: Time = {
  now: Date.now,
  sleep: (ms, signal) => setTimeout(ms, undefined, { signal }),
};
