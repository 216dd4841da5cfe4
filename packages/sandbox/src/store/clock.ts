import { type Database, readSetting, writeSetting } from './database.ts';
import { type Micros, SECOND } from './time.ts';

/** The sandbox's time: the machine's, plus what was added through the control route. It can move back only before anything has happened. */
export interface Clock {
  now(): Micros;
  advance(seconds: number): void;
  /** Sets an earlier start, for a sandbox without a company. */
  setBack(seconds: number): void;
}

export function createClock(db: Database, realNowMs: () => number): Clock {
  let offset = Number(readSetting(db, 'clock_offset') ?? '0');
  let latest = 0;
  return {
    now() {
      latest = Math.max(latest + 1, Math.floor(realNowMs() * 1000) + offset);
      return latest;
    },
    advance(seconds) {
      offset += Math.round(seconds * SECOND);
      writeSetting(db, 'clock_offset', String(offset));
    },
    setBack(seconds) {
      this.advance(-seconds);
      latest = 0;
    },
  };
}
