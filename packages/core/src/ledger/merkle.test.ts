import { expect, test } from 'vitest';
import {
  emptyRoot,
  type Hash,
  hashLeaf,
  hashRange,
  isConsistent,
  isIncluded,
  nodesOf,
  rangesOfConsistency,
  rangesOfInclusion,
  rootOfLeaves,
} from './merkle.ts';

const hex = (hash: Hash) => Buffer.from(hash).toString('hex');

// The leaves and roots of Certificate Transparency's own test data.
const leaves = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const roots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

test('roots are those of RFC 6962', () => {
  const hashes = leaves.map((leaf) => hashLeaf(Buffer.from(leaf, 'hex')));
  expect(roots.map((_root, size) => hex(rootOfLeaves(hashes.slice(0, size))))).toEqual(roots);
  expect(hex(emptyRoot)).toBe(roots[0]);
});

const most = 70;
const hashes = Array.from({ length: most }, (_, index) => hashLeaf(`leaf ${index}`));
const heads = Array.from({ length: most + 1 }, (_, size) => ({ size, root: rootOfLeaves(hashes.slice(0, size)) }));
const headOf = (size: number) => {
  const head = heads[size];
  if (head === undefined) throw new RangeError(`no tree of ${size}`);
  return head;
};
/** Hashes a range from the leaves, and requires that every node is a complete subtree. */
const hashOf = (range: { from: number; to: number }) =>
  hashRange(range, (level, index) => rootOfLeaves(hashes.slice(index * 2 ** level, (index + 1) * 2 ** level)));

test('each leaf of each tree up to 70 is proved, and no other leaf, index, size or root is', () => {
  for (let size = 1; size <= most; size += 1) {
    const { root } = headOf(size);
    for (let index = 0; index < size; index += 1) {
      const proof = rangesOfInclusion(index, size).map(hashOf);
      const leaf = hashes[index] ?? emptyRoot;
      expect(isIncluded(leaf, { index, size, root, proof })).toBe(true);
      const wrong = [
        isIncluded(hashLeaf('other'), { index, size, root, proof }),
        isIncluded(leaf, { index: index + 1, size, root, proof }),
        isIncluded(leaf, { index, size, root: headOf((size % most) + 1).root, proof }),
        isIncluded(leaf, { index, size, root, proof: [...proof, root] }),
        size > 1 && isIncluded(leaf, { index, size, root, proof: proof.slice(1) }),
        size > 1 && isIncluded(leaf, { index, size, root, proof: [hashLeaf('x'), ...proof.slice(1)] }),
      ];
      expect([index, size, wrong.includes(true)]).toEqual([index, size, false]);
    }
  }
});

test('each tree up to 70 is proved to continue each smaller one, and no other', () => {
  for (let size = 0; size <= most; size += 1)
    for (let old = 0; old <= size; old += 1) {
      const proof = rangesOfConsistency(old, size).map(hashOf);
      expect(isConsistent(headOf(old), headOf(size), proof)).toBe(true);
      const forged = { size: old, root: hashLeaf('forged') };
      const wrong = [
        isConsistent(forged, headOf(size), proof),
        isConsistent(headOf(old), { size, root: hashLeaf('forged') }, proof) && old > 0,
        isConsistent(headOf(old), headOf(size), [...proof, emptyRoot]),
        proof.length > 0 && isConsistent(headOf(old), headOf(size), proof.slice(0, -1)),
        proof.length > 0 && isConsistent(headOf(old), headOf(size), [hashLeaf('x'), ...proof.slice(1)]),
      ];
      expect([old, size, wrong.includes(true)]).toEqual([old, size, false]);
    }
});

test('proofs of a tree of 10,000,000 leaves have at most 64 hashes, and reading them takes few nodes', () => {
  const size = 10_000_000;
  for (const index of [0, 1, 4_999_999, 8_388_608, size - 1]) {
    const ranges = rangesOfInclusion(index, size);
    expect(ranges.length).toBeLessThanOrEqual(24);
    expect(ranges.flatMap(nodesOf).length).toBeLessThan(64);
  }
  expect(rangesOfConsistency(1_234_567, size).length).toBeLessThan(64);
});

test('a leaf outside the tree, and a tree that shrinks, have no proof', () => {
  expect(() => rangesOfInclusion(5, 5)).toThrow(RangeError);
  expect(() => rangesOfConsistency(6, 5)).toThrow(RangeError);
  expect(isConsistent(headOf(6), headOf(5), [])).toBe(false);
});
