/** Hears the first wish to stop: SIGINT, SIGTERM, SIGHUP, or the end of the process that started this one. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = () => controller.abort(new Error('stopped'));
  for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect']) process.on(event, stop);
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
