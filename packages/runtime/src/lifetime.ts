import { setTimeout } from 'node:timers/promises';

/** A terminal and npm both pass on one Ctrl-C. A second signal within this time counts as the same request. */
const sameWishMs = 500;

/** Returns a signal that aborts on SIGINT, SIGTERM, SIGHUP, or the parent's end. A second signal ends the process with exit code 1. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  let askedMs: number | undefined;
  const stop = () => {
    askedMs ??= performance.now();
    controller.abort(new Error('stopped'));
  };
  process.on('disconnect', stop);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(name, () => {
      if (askedMs !== undefined && performance.now() - askedMs > sameWishMs) process.exit(1);
      stop();
    });
  process.channel?.unref();
  return controller.signal;
}

/** Resolves when the signal aborts, and keeps the process alive until then. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    // A listener does not keep a process alive, but a process that waits for a stop signal must stay alive.
    const alive = setInterval(() => undefined, 2 ** 30);
    const stop = () => {
      clearInterval(alive);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}

/**
 * Returns a signal that aborts with the first of several signals. Unlike AbortSignal.any, it detaches from them on `release`. Otherwise a signal
 * derived from a process-long signal would stay in memory as long.
 */
export function linkSignals(...signals: AbortSignal[]): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const stop = (event: Event) =>
    controller.abort(event.target instanceof AbortSignal ? event.target.reason : undefined);
  const aborted = signals.find((signal) => signal.aborted);
  if (aborted) controller.abort(aborted.reason);
  for (const signal of signals) signal.addEventListener('abort', stop, { once: true });
  return {
    signal: controller.signal,
    release() {
      for (const signal of signals) signal.removeEventListener('abort', stop);
    },
  };
}

/** Resolves with the result of the work, or with `otherwise` after `ms`. Does not stop the work. */
export async function within<T, U>(ms: number, work: Promise<T>, otherwise: U): Promise<T | U> {
  const over = new AbortController();
  const timer = setTimeout(ms, otherwise, { signal: over.signal, ref: false });
  timer.catch(() => undefined); // aborted below
  return await Promise.race([work, timer]).finally(() => over.abort());
}

/** Returns whether work succeeds, for callers that need no reason. */
export async function succeeds(work: PromiseLike<unknown>): Promise<boolean> {
  return await work.then(
    () => true,
    () => false,
  );
}

/** Returns a function whose calls share the work that is going on: probes do not pile up on a store that hangs. */
export function oneAtATime<T>(work: () => Promise<T>): () => Promise<T> {
  let going: Promise<T> | undefined;
  return async () => await (going ??= work().finally(() => (going = undefined)));
}
