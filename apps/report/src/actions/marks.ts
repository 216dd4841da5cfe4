import { addMark, readMark, reportMarkFile, reportOlderStore } from '@keywarden/db/report';
import type { Db } from '@keywarden/db/store';
import { readDataFile, writeDataFile } from '@keywarden/runtime';

/** The report's part of R10. */
export interface Marks {
  /** Moves the mark: before whatever a person says that the daemon acts by. */
  move(): Promise<void>;
  /** Looks whether the store is older than the last mark that was made here. If so, nothing is enforced until a person says resume. */
  check(): Promise<void>;
}

/** Marks of a store, the last of which is kept in the data folder. */
export function createMarks({ db, dataFolder }: { db: Db; dataFolder: string }): Marks {
  const check = async (): Promise<void> => {
    const held = readDataFile(dataFolder, reportMarkFile);
    if (held === undefined || (await readMark(db, held)) !== 'missing') return;
    await reportOlderStore(db);
    // The incident stands in the store now: it is for a person to close.
    await write();
  };
  const write = async (): Promise<void> => writeDataFile(dataFolder, reportMarkFile, await addMark(db, 'report'));
  return {
    check,
    async move() {
      await check();
      await write();
    },
  };
}
