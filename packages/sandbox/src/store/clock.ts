import { type Database, readSetting, writeSetting } from './database.ts';
import { type Micros, SECOND } from './time.ts';

export type Clock = ReturnType<typeof createClock>;

/** Creates the sandbox's time: the machine's, plus what was added through the control route. It can move back only before anything has happened. */
export function createClock(db: Database, realNowMs: () => number) {
  let offset = Number(readSetting(db, 'clock_offset') ?? '0');
  let latest = 0;
  return {
    now(): Micros {
      latest = Math.max(latest + 1, Math.floor(realNowMs() * 1000) + offset);
      return latest;
    },
    advance(seconds: number): void {
      offset += Math.round(seconds * SECOND);
      writeSetting(db, 'clock_offset', String(offset));
    },
    /** Sets an earlier start, for a sandbox without a company. */
    setBack(seconds: number): void {
      this.advance(-seconds);
      latest = 0;
    },
  };
}
