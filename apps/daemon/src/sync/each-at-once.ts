/** Projects that are worked on at once: enough to keep the control plane and the store both busy. */
const concurrency = 4;

/** Works on several items at once; the first failure stops the rest, and is thrown when all have stopped. */
export async function eachAtOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  let hasFailed = false;
  const ends = await Promise.allSettled(
    Array.from({ length: concurrency }, async () => {
      for (const item of queue) {
        if (hasFailed) return;
        await work(item).catch((error: unknown) => {
          hasFailed = true;
          throw error;
        });
      }
    }),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
