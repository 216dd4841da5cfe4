import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  growTree,
  hashLeaf,
  hashRanges,
  isSameHash,
  openNote,
  parseCheckpoint,
  type Tile,
  tilePath,
  unpackEntries,
} from '@keywarden/core/ledger';
import { type Judge, type Verdict, wrong } from './verdict.ts';

const tileWidth = 256;

/**
 * Checks a whole copy of a ledger, as its routes serve it: a folder with the file `checkpoint` and the folder `tile`. The tree is computed from the entries,
 * and tiles of hashes are compared if they are there.
 */
export function verifyCopy(folder: string, { keys }: Judge): Verdict {
  const opened = openNote(read(join(folder, 'checkpoint'))?.toString() ?? '', keys);
  const checkpoint = opened === null ? null : parseCheckpoint(opened.text);
  const isSigned = opened?.signatures.some(({ by }) => by.kind === 'log' && by.name === checkpoint?.origin) === true;
  if (checkpoint === null || !isSigned) return wrong('its checkpoint is not signed with one of the given keys');
  const { size, root, origin } = checkpoint;
  let edge: Tile[] = [];
  for (let at = 0; at < size; at += tileWidth) {
    const width = Math.min(tileWidth, size - at);
    const path = tilePath({ level: 'entries', index: at / tileWidth, width });
    const entries = unpackEntries(read(join(folder, path)) ?? new Uint8Array());
    if (entries?.length !== width) return wrong(`${path} is missing, or cut`);
    const changed = growTree(at, edge, entries.map(hashLeaf));
    for (const { level, index, hashes } of changed) {
      const stored = read(join(folder, tilePath({ level, index, width: hashes.length / 32 })));
      if (stored !== null && Buffer.compare(stored, hashes) !== 0)
        return wrong(`${tilePath({ level, index, width: hashes.length / 32 })} is not the tile of its entries`);
    }
    edge = changed.filter(({ hashes }) => hashes.length < tileWidth * 32);
  }
  const [found] = size === 0 ? [root] : hashRanges([{ from: 0, to: size }], edge);
  if (found === undefined || !isSameHash(found, root))
    return wrong('its entries are not those that its checkpoint signs');
  const proven = [`the ledger ${origin} has exactly these ${size} events`];
  return { proven, unproven: [], wrong: [] };
}

function read(path: string): Buffer | null {
  return existsSync(path) ? readFileSync(path) : null;
}
