import { hash } from 'node:crypto';

// The Merkle tree of RFC 6962, section 2.1: SHA-256, leaves and inner nodes hashed with different first bytes. A hash is 32 bytes. Sizes and indexes are
// whole numbers below 2^53.

export type Hash = Uint8Array;

/** Bytes of a hash. */
export const hashSize = 32;

/** The leaves from `from` to `to`, which is excluded. */
export interface LeafRange {
  from: number;
  to: number;
}

/** Reads the hash of a complete subtree: of the leaves `index * 2^level` to `(index + 1) * 2^level`. */
export type ReadNode = (level: number, index: number) => Hash;

const leafPrefix = Uint8Array.of(0);

/** Returns the hash of a leaf. */
export function hashLeaf(leaf: Uint8Array | string): Hash {
  return digest(typeof leaf === 'string' ? `\0${leaf}` : Buffer.concat([leafPrefix, leaf]));
}

// Trees have millions of nodes: a digest as a string of bytes takes a third of the time of one in a new buffer.
const digest = (bytes: Uint8Array | string): Hash => Buffer.from(hash('sha256', bytes, 'binary'), 'latin1');

function hashChildren(left: Hash, right: Hash): Hash {
  node.set(left, 1);
  node.set(right, 1 + hashSize);
  return digest(node);
}

/** The bytes of an inner node: its first byte and the hashes of its children. */
const node = Buffer.alloc(1 + 2 * hashSize);
node[0] = 1;

/** The root of the tree without a leaf. */
export const emptyRoot: Hash = digest('');

/** Returns the root of the tree of these leaf hashes. */
export const rootOfLeaves = (leafHashes: readonly Hash[]): Hash => rootOfHashes(Buffer.concat(leafHashes));

/** Returns the root of the tree of hashes that lie one after the other. It needs the memory of them once more. */
export function rootOfHashes(hashes: Uint8Array): Hash {
  const row = Buffer.from(hashes);
  let count = row.length / hashSize;
  if (count === 0) return emptyRoot;
  while (count > 1) {
    const pairs = Math.floor(count / 2);
    for (let pair = 0; pair < pairs; pair += 1) {
      row.copy(node, 1, pair * 2 * hashSize, (pair + 1) * 2 * hashSize);
      row.write(hash('sha256', node, 'binary'), pair * hashSize, 'latin1');
    }
    // The last one of an odd number moves up.
    if (count % 2 === 1) row.copyWithin(pairs * hashSize, (count - 1) * hashSize, count * hashSize);
    count = Math.ceil(count / 2);
  }
  return row.subarray(0, hashSize);
}

/** Returns the hash of a range of leaves, as the tree of those leaves alone. The range is one that a proof of this file contains. */
export function hashRange({ from, to }: LeafRange, readNode: ReadNode): Hash {
  const size = to - from;
  const split = largestPowerBelow(size);
  // A complete subtree.
  if (split * 2 === size || size === 1) return readNode(Math.log2(size), from / size);
  return hashChildren(hashRange({ from, to: from + split }, readNode), hashRange({ from: from + split, to }, readNode));
}

/** Returns the complete subtrees that make up a range, as `hashRange` reads them. */
export function nodesOf({ from, to }: LeafRange): { level: number; index: number }[] {
  const nodes: { level: number; index: number }[] = [];
  const collect: ReadNode = (level, index) => {
    nodes.push({ level, index });
    return emptyRoot;
  };
  if (to > from) hashRange({ from, to }, collect);
  return nodes;
}

/**
 * Returns the ranges whose hashes prove that a leaf is in a tree, from its sibling up to a child of the root (RFC 6962, 2.1.1). Throws a RangeError for a
 * leaf outside the tree.
 */
export function rangesOfInclusion(index: number, size: number): LeafRange[] {
  if (!(Number.isSafeInteger(index) && index >= 0 && index < size)) throw new RangeError(`no leaf ${index} of ${size}`);
  return descend(index + 1, size, ({ from, to }) => to - from === 1).beside.toReversed();
}

/** Returns the ranges whose hashes prove that a tree continues a smaller one (RFC 6962, 2.1.2). It is empty if either size is the other or zero. */
export function rangesOfConsistency(oldSize: number, size: number): LeafRange[] {
  if (!(oldSize >= 0 && oldSize <= size)) throw new RangeError(`no tree of ${oldSize} within ${size}`);
  if (oldSize === 0 || oldSize === size) return [];
  const { beside, reached } = descend(oldSize, size, ({ to }) => to === oldSize);
  // The old tree itself, whose hash is known, begins at 0.
  return (reached.from === 0 ? beside : [...beside, reached]).toReversed();
}

/** Descends from the root to a subtree that has the leaf before `end`. Returns it, and the ranges that the descent leaves beside it, in its order. */
function descend(end: number, size: number, isReached: (range: LeafRange) => boolean) {
  const beside: LeafRange[] = [];
  let reached = { from: 0, to: size };
  while (!isReached(reached)) {
    const { from, to } = reached;
    const middle = from + largestPowerBelow(to - from);
    const [left, right] = [
      { from, to: middle },
      { from: middle, to },
    ];
    reached = end <= middle ? left : right;
    beside.push(end <= middle ? right : left);
  }
  return { beside, reached };
}

/** Returns whether a proof shows that a leaf is at an index of the tree with this size and root (RFC 9162, 2.1.3.2). */
export function isIncluded(
  leafHash: Hash,
  { index, size, root, proof }: { index: number; size: number; root: Hash; proof: Hash[] },
): boolean {
  if (!(Number.isSafeInteger(index) && Number.isSafeInteger(size) && index >= 0 && index < size)) return false;
  let [node, last, hash] = [index, size - 1, leafHash];
  for (const sibling of proof) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      hash = hashChildren(sibling, hash);
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      hash = hashChildren(hash, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && isSameHash(hash, root);
}

/** A tree: its number of leaves, and its root. */
export interface TreeHead {
  size: number;
  root: Hash;
}

/** The tree without a leaf. */
export const emptyTree: TreeHead = { size: 0, root: emptyRoot };

/** Returns whether a proof shows that the tree `later` begins with the leaves of the tree `earlier` (RFC 9162, 2.1.4.2). */
export function isConsistent(earlier: TreeHead, later: TreeHead, proof: Hash[]): boolean {
  if (!(Number.isSafeInteger(earlier.size) && Number.isSafeInteger(later.size))) return false;
  if (earlier.size < 0 || earlier.size > later.size) return false;
  if (earlier.size === later.size) return proof.length === 0 && isSameHash(earlier.root, later.root);
  if (earlier.size === 0) return proof.length === 0 && isSameHash(earlier.root, emptyRoot);
  const isPower = largestPowerBelow(earlier.size) * 2 === earlier.size || earlier.size === 1;
  const [first, ...rest] = isPower ? [earlier.root, ...proof] : proof;
  if (first === undefined) return false;
  let [node, last] = [earlier.size - 1, later.size - 1];
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  let [old, now] = [first, first];
  for (const hash of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      [old, now] = [hashChildren(hash, old), hashChildren(hash, now)];
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      now = hashChildren(now, hash);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && isSameHash(old, earlier.root) && isSameHash(now, later.root);
}

export function isSameHash(a: Hash, b: Hash): boolean {
  return Buffer.compare(a, b) === 0;
}

/** Sizes may exceed 32 bits, which shifts do not. */
const half = (value: number): number => Math.floor(value / 2);

/** Returns the largest power of two below a size; 1 for a size of 1. */
function largestPowerBelow(size: number): number {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}
