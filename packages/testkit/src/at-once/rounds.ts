import * as fc from 'fast-check';
import type { Fixture, Noun, Write } from './fixture.ts';

/** A writer with its input, and how long it waits before it begins, in ms. */
export interface Drawn {
  name: string;
  write: Write;
  pause: number;
}

const missing: Write = () => Promise.reject(new Error('there is no such writer'));

/** Returns each of these writers, to draw from. */
export const drawn = (writers: Noun['writers'], names = Object.keys(writers)): fc.Arbitrary<Drawn>[] =>
  names.map((name) =>
    fc.record({ name: fc.constant(name), write: writers[name] ?? fc.constant(missing), pause: fc.nat(20) }),
  );

/** The seed of a run, to name where a round fails. */
export const { seed = Date.now() % 2 ** 31 } = fc.readConfigureGlobal() ?? {};

/** Returns the fixture of the next round. */
export async function nextRound(fixture: Fixture, { prepare }: Noun): Promise<Fixture> {
  fixture.round += 1;
  return { ...fixture, fresh: (await prepare?.(fixture)) ?? {} };
}
