import { addMark, readMark, reportMarkFile, reportOlderStore } from '@keywarden/db/report';
import type { Db } from '@keywarden/db/store';
import { readDataFile, writeDataFile } from '@keywarden/runtime';

/** The report's part of R10. */
export interface Marks {
  /** Moves the mark. Call it before every user action that the daemon carries out. */
  move(): Promise<void>;
  /** Checks whether the store is older than this report's last mark. If so, nothing is enforced until a person runs `keywarden arm`. */
  check(): Promise<void>;
}

/** Creates the marks of a store; the data folder keeps the last one. */
export function createMarks({ db, dataFolder }: { db: Db; dataFolder: string }): Marks {
  const check = async (): Promise<void> => {
    const held = readDataFile(dataFolder, reportMarkFile);
    if (held === undefined || (await readMark(db, held)) !== 'missing') return;
    await reportOlderStore(db);
    // The store now has the incident, which only a person closes.
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
