/**
 * Returns how many runs a property or simulation test makes: `full` times TEST_SIZE, at least one. TEST_SIZE is 0.1 in `npm test` and 1 in `npm run
 * test:long`; a larger one searches longer. Throws when TEST_SIZE is not a positive number.
 */
export function sized(full: number): number {
  const text = process.env.TEST_SIZE || '0.1';
  const size = Number(text);
  if (!Number.isFinite(size) || size <= 0) throw new Error(`TEST_SIZE must be a positive number, and "${text}" is not`);
  return Math.max(1, Math.ceil(full * size));
}
