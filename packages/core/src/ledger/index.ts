export { isVerifyPage, policyFile, verifyPage } from './archive-documents.ts';
export { type Checkpoint, decodeHash, encodeHash, formatCheckpoint, parseCheckpoint, parseSize } from './checkpoint.ts';
export {
  canSign,
  createSigningKey,
  type KeyAlgorithm,
  keyAlgorithms,
  parseSigningKey,
  parseVerifier,
  type Signer,
  type Verifier,
} from './keys.ts';
export {
  emptyRoot,
  emptyTree,
  type Hash,
  hashLeaf,
  hashSize,
  isConsistent,
  isIncluded,
  isSameHash,
  type LeafRange,
  rangesOfConsistency,
  rangesOfInclusion,
  rootOfHashes,
  rootOfLeaves,
  type TreeHead,
} from './merkle.ts';
export {
  addSignatures,
  openNote,
  otherKey,
  replaceSignature,
  signatureLines,
  signNote,
  splitNote,
  whyUnsigned,
} from './note.ts';
export { hashOperation, isSealed, readMembers, sealedColumns } from './operations.ts';
export { parseProof } from './proof.ts';
export * from './receipt.ts';
export { createLateness, createTimeOrder, isRecordedAtItsTime, toleranceMs } from './recording-times.ts';
export * from './seal.ts';
export * from './tiles.ts';
