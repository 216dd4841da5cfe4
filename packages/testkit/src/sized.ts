/**
 * Returns how many runs a property or simulation test makes: `full` times TEST_SIZE, at least one. TEST_SIZE is 1 in `npm run test:long`; a larger one searches
 * longer. In `npm test` it is `small`, a tenth by default, and less for tests whose runs take seconds. Throws when TEST_SIZE is not a positive number.
 */
export function sized(full: number, small = 0.1): number {
  const text = process.env.TEST_SIZE || String(small);
  const size = Number(text);
  if (!Number.isFinite(size) || size <= 0) throw new Error(`TEST_SIZE must be a positive number, and "${text}" is not`);
  return Math.max(1, Math.ceil(full * size));
}
