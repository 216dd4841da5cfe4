import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Checkpoint,
  growTree,
  hashLeaf,
  hashRanges,
  isSameHash,
  openNote,
  parseCheckpoint,
  type Tile,
  tilePath,
  unpackEntries,
  type Verifier,
} from '@keywarden/core/ledger';
import { type Judge, type Verdict, wrong } from './verdict.ts';

const tileWidth = 256;

/**
 * Checks a whole copy of a ledger, as its routes serve it: a folder with the file `checkpoint` and the folder `tile`. The tree is computed from the entries,
 * and tiles of hashes are compared if they are there. Each file `checkpoint.SOMETHING` beside them is an earlier checkpoint, which the tree must continue.
 */
export function verifyCopy(folder: string, { keys }: Judge): Verdict {
  const newest = openCheckpoint(join(folder, 'checkpoint'), keys);
  if (newest === null) return wrong('its checkpoint is not signed with one of the given keys');
  const { size, origin } = newest;
  const names = readdirSync(folder).filter((name) => name.startsWith('checkpoint.'));
  const earlier = names.map((name) => ({ name, checkpoint: openCheckpoint(join(folder, name), keys) }));
  const mistakes: string[] = [];
  for (const { name, checkpoint } of earlier)
    if (checkpoint === null) mistakes.push(`${name} is not signed with one of the given keys`);
    else if (checkpoint.origin !== origin) mistakes.push(`${name} is of another ledger, ${checkpoint.origin}`);
    else if (checkpoint.size > size)
      mistakes.push(`${name} has ${checkpoint.size} events, and the copy has only ${size}`);

  let edge: Tile[] = [];
  for (let at = 0; at < size; at += tileWidth) {
    const width = Math.min(tileWidth, size - at);
    const path = tilePath({ level: 'entries', index: at / tileWidth, width });
    const entries = unpackEntries(read(join(folder, path)) ?? new Uint8Array());
    if (entries?.length !== width) return wrong(`${path} is missing, or cut`);
    const leaves = entries.map(hashLeaf);
    for (const { name, checkpoint } of earlier) {
      if (checkpoint === null || checkpoint.size <= at || checkpoint.size > at + width) continue;
      if (!hasRoot(growTree(at, edge, leaves.slice(0, checkpoint.size - at)), checkpoint))
        mistakes.push(`${name} has other events than the copy`);
    }
    const changed = growTree(at, edge, leaves);
    for (const { level, index, hashes } of changed) {
      const stored = read(join(folder, tilePath({ level, index, width: hashes.length / 32 })));
      if (stored !== null && Buffer.compare(stored, hashes) !== 0)
        return wrong(`${tilePath({ level, index, width: hashes.length / 32 })} is not the tile of its entries`);
    }
    if (at + width === size && !hasRoot(changed, newest))
      return wrong('its entries are not those that its checkpoint signs');
    edge = changed.filter(({ hashes }) => hashes.length < tileWidth * 32);
  }
  const proven = [`the ledger ${origin} has exactly these ${size} events`];
  if (mistakes.length === 0) for (const { name } of earlier) proven.push(`it continues ${name}`);
  return { proven, unproven: [], wrong: mistakes };
}
/** Returns the checkpoint of a file that a key of its ledger signed; null for any other file. */
function openCheckpoint(file: string, keys: Verifier[]): Checkpoint | null {
  const opened = openNote(read(file)?.toString() ?? '', keys);
  const checkpoint = opened === null ? null : parseCheckpoint(opened.text);
  const isSigned = opened?.signatures.some(({ by }) => by.kind === 'log' && by.name === checkpoint?.origin) === true;
  return isSigned ? checkpoint : null;
}

/** Returns whether the tiles at the edge of a tree of this size have the root of its checkpoint. */
function hasRoot(tiles: Tile[], { size, root }: Checkpoint): boolean {
  const [found] = hashRanges([{ from: 0, to: size }], tiles);
  return found !== undefined && isSameHash(found, root);
}

function read(path: string): Buffer | null {
  return existsSync(path) ? readFileSync(path) : null;
}
