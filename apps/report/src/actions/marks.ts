import { addMark, readMark, reportMarkFile, reportOlderStore } from '@keywarden/db/report';
import type { Db } from '@keywarden/db/store';
import { readDataFile, writeDataFile } from '@keywarden/runtime';
import { mayBeDone } from '../problem.ts';

export type Marks = ReturnType<typeof createMarks>;

/** Creates the marks of a store, the report's part of R10; the data folder keeps the last one. */
export function createMarks({ db, dataFolder }: { db: Db; dataFolder: string }) {
  let last: Promise<void> = Promise.resolve();
  /** One at a time: otherwise the file could keep an older mark than the last one of the store. */
  const inTurn = async (work: () => Promise<void>): Promise<void> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    await done;
  };
  const check = async (): Promise<void> => {
    const held = readDataFile(dataFolder, reportMarkFile);
    if (held === undefined || (await readMark(db, held)) !== 'missing') return;
    await reportOlderStore(db);
    // The store now has the incident, which only a person closes.
    await write();
  };
  const write = async (): Promise<void> => writeDataFile(dataFolder, reportMarkFile, await addMark(db, 'report'));
  const move = async (): Promise<void> => {
    await check();
    await write();
  };
  return {
    /** Checks whether the store is older than this report's last mark. If so, nothing is enforced until a person runs `keywarden arm`. */
    check: async () => await inTurn(check),
    /**
     * Runs a user action that the daemon carries out between two marks. A store that lost the action lacks the second one. Throws if that mark cannot be
     * added: the action may then be lost, too.
     */
    async around<T>(action: () => Promise<T>): Promise<T> {
      await inTurn(move);
      let isDone = false;
      try {
        const result = await action();
        isDone = true;
        return result;
      } finally {
        await inTurn(move).catch((error: unknown) => {
          // What failed itself says why.
          if (isDone) throw Object.assign(mayBeDone('the mark after it could not be stored'), { cause: error });
        });
      }
    },
  };
}
