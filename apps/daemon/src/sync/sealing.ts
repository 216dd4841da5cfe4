import type { sealDays } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';

export type Sealer = ReturnType<typeof createSealer>;

/** Projects are sealed in batches of this size, so that a pass without news seldom asks the store what there is to seal. */
const projectsAtOnce = 8;

/**
 * Returns what seals the projects that a pass has read, while it reads others. A first pass takes long: sealing uses the time in which it waits for the control
 * plane, and what was read is sealed even if the pass is interrupted. A failure is logged: the archive has the operations, and the next pass seals them.
 */
export function createSealer({ store, signal, log }: Context, seal: typeof sealDays) {
  const sealed = { projects: 0, days: 0 };
  const sealSome = async (projects?: string[]) => {
    const { failures, ...done } = await seal(store.sql, { signal, projects });
    sealed.projects += done.projects;
    sealed.days += done.days;
    return failures;
  };
  let waiting: string[] = [];
  let work: Promise<void> | null = null;
  const sealWaiting = async () => {
    // What fails here is tried again, and logged, at the end.
    while (waiting.length >= projectsAtOnce) await sealSome(waiting.splice(0)).catch(() => undefined);
    work = null;
  };
  return {
    /** Adds a project that was read completely, by its number. */
    add(project: string): void {
      waiting.push(project);
      if (waiting.length >= projectsAtOnce) work ??= sealWaiting();
    },
    /** Seals what is settled and still unsealed, whether the pass has read it or not. A project that cannot be read does not stop the others. */
    async finish(): Promise<void> {
      waiting = [];
      try {
        await work;
        const failures = await sealSome();
        if (sealed.days > 0) log.info(sealed, 'sealed days of the archive in the ledger');
        for (const { project, error } of failures)
          log.error({ project, err: error }, 'the days of a project could not be sealed');
      } catch (error) {
        signal.throwIfAborted();
        log.error({ err: error }, 'the archive could not be sealed; the next pass tries again');
      }
    },
  };
}
