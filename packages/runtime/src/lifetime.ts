import { setTimeout } from 'node:timers/promises';

/** A terminal and npm pass one Ctrl-C on twice: what comes so soon after the first is the same wish. */
const sameWishMs = 500;

/**
 * Hears the first wish to stop: SIGINT, SIGTERM, SIGHUP, or the end of the process that started this one. A second signal ends the process at
 * once, with exit code 1.
 */
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
    // A listener alone does not keep a process alive; one that waits to be stopped must stay.
    const alive = setInterval(() => undefined, 2 ** 30);
    const stop = () => {
      clearInterval(alive);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}

/**
 * A signal that aborts with the first of others. Unlike AbortSignal.any it lets go of them when it is released: signals made of others that live
 * as long as the process would be kept as long.
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

/** What work gives, or something else after so many ms; the work is not stopped. */
export async function within<T, U>(ms: number, work: Promise<T>, otherwise: U): Promise<T | U> {
  const over = new AbortController();
  const timer = setTimeout(ms, otherwise, { signal: over.signal, ref: false });
  timer.catch(() => undefined); // ended below
  return await Promise.race([work, timer]).finally(() => over.abort());
}
