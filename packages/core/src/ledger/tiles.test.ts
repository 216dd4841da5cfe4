import { expect, test } from 'vitest';
import {
  emptyRoot,
  type Hash,
  hashLeaf,
  isConsistent,
  isIncluded,
  rangesOfConsistency,
  rangesOfInclusion,
  rootOfLeaves,
} from './merkle.ts';
import {
  edgeOf,
  growTree,
  hashRanges,
  isTreeOf,
  packEntries,
  parseTilePath,
  rootOf,
  type Tile,
  tilePath,
  tilesOf,
  unpackEntries,
} from './tiles.ts';

const nameOf = ({ level, index }: { level: number; index: number }) => `${level}/${index}`;

/** Grows a tree by steps of these sizes, as a store would: each step reads the edge and writes the changed tiles. */
function growBy(steps: number[]) {
  const tiles = new Map<string, Tile>();
  const leaves: Hash[] = [];
  for (const step of steps) {
    const added = Array.from({ length: step }, (_, index) => hashLeaf(`leaf ${leaves.length + index}`));
    const edge = edgeOf(leaves.length).map((at) => tiles.get(nameOf(at)) ?? { ...at, hashes: new Uint8Array() });
    for (const tile of growTree(leaves.length, edge, added)) tiles.set(nameOf(tile), tile);
    leaves.push(...added);
  }
  return { leaves, tiles: [...tiles.values()] };
}

test('the example of the specification: a tree of 70,000 leaves', () => {
  const { tiles, leaves } = growBy([1, 255, 256, 30_000, 39_488]);
  const widths = tiles.map(({ level, hashes }) => ({ level, width: hashes.length / 32 }));
  const count = (level: number, isFull: boolean) =>
    widths.filter((each) => each.level === level && (each.width === 256) === isFull);
  expect([count(0, true).length, count(0, false), count(1, true).length, count(1, false), count(2, false)]).toEqual([
    273,
    [{ level: 0, width: 112 }],
    1,
    [{ level: 1, width: 17 }],
    [{ level: 2, width: 1 }],
  ]);
  expect(hashRanges([{ from: 0, to: 70_000 }], tiles)[0]).toEqual(rootOfLeaves(leaves));
});

test('however a tree grew, its tiles are the same', () => {
  const sorted = ({ tiles }: ReturnType<typeof growBy>) => tiles.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const whole = sorted(growBy([1000]));
  for (const steps of [[1, 999], [256, 744], [300, 300, 400], Array.from({ length: 1000 }, () => 1)])
    expect(sorted(growBy(steps))).toEqual(whole);
});

test('proofs from tiles are those of the tree, for every size around full tiles', () => {
  const { leaves, tiles } = growBy([66_000]);
  const byName = new Map(tiles.map((tile) => [nameOf(tile), tile]));
  const prove = (ranges: { from: number; to: number }[]) =>
    hashRanges(
      ranges,
      tilesOf(ranges).map((at) => byName.get(nameOf(at)) ?? { ...at, hashes: new Uint8Array() }),
    );
  for (const size of [1, 2, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, 66_000]) {
    const root = rootOfLeaves(leaves.slice(0, size));
    expect(prove([{ from: 0, to: size }])).toEqual([root]);
    for (const index of [0, Math.floor(size / 2), size - 1]) {
      const proof = prove(rangesOfInclusion(index, size));
      expect(isIncluded(leaves[index] ?? root, { index, size, root, proof })).toBe(true);
      expect(tilesOf(rangesOfInclusion(index, size)).length).toBeLessThanOrEqual(6);
    }
    const old = { size: Math.ceil(size / 3), root: rootOfLeaves(leaves.slice(0, Math.ceil(size / 3))) };
    expect(isConsistent(old, { size, root }, prove(rangesOfConsistency(old.size, size)))).toBe(true);
  }
});

test('a tile that lacks a hash proves nothing', () => {
  const { tiles } = growBy([300]);
  const cut = tiles.map((tile) => ({ ...tile, hashes: tile.hashes.subarray(0, 32) }));
  expect(() => hashRanges([{ from: 0, to: 300 }], cut)).toThrow(/^tile tile\/\d\/\d{3} lacks hash /);
  expect(() => hashRanges([{ from: 0, to: 300 }], [])).toThrow(RangeError);
  expect([rootOf(300, cut), rootOf(300, [])]).toEqual([null, null]);
});

test('tiles are of the tree with their root, and of no other', () => {
  const { leaves, tiles } = growBy([300]);
  const root = rootOfLeaves(leaves);
  expect(isTreeOf({ size: 300, root }, tiles)).toBe(true);
  expect(isTreeOf({ size: 0, root: emptyRoot }, [])).toBe(true);
  for (const [head, of] of [
    [{ size: 299, root }, tiles],
    [{ size: 300, root: emptyRoot }, tiles],
    [{ size: 300, root }, []],
    [{ size: 0, root }, []],
  ] as const)
    expect(isTreeOf(head, [...of])).toBe(false);
});

test.each([
  ['tile/0/x001/x234/067', { level: 0, index: 1_234_067, width: 256 }],
  ['tile/1/000.p/17', { level: 1, index: 0, width: 17 }],
  ['tile/entries/x001/000.p/255', { level: 'entries', index: 1000, width: 255 }],
] as const)('%s names one tile', (path, tile) => {
  expect(parseTilePath(path)).toEqual(tile);
  expect(tilePath(tile)).toBe(path);
});

test.each([
  'tile/0/x000/001',
  'tile/0/1',
  'tile/0/001.p/256',
  'tile/0/001.p/0',
  'tile/64/000',
  'tile/00/000',
  'tile/0/001/002',
  'tile/-1/000',
  'tile/0/x999/x999/x999/x999/x999/x999/999',
  '../tile/0/000',
  'tile/data/000',
])('%s names no tile', (path) => {
  expect(parseTilePath(path)).toBeNull();
});

test('a bundle returns its entries, and a cut bundle none', () => {
  const entries = ['a', '', 'ü'.repeat(300)].map((text) => Buffer.from(text));
  const bundle = packEntries(entries);
  expect(unpackEntries(bundle)?.map((entry) => Buffer.from(entry))).toEqual(entries);
  expect(unpackEntries(bundle.subarray(0, -1))).toBeNull();
  expect(unpackEntries(bundle.subarray(0, 4))).toBeNull();
  expect(() => packEntries([Buffer.alloc(65_536)])).toThrow(RangeError);
});
