// The third argument of a reviver stands in V8 and in ECMAScript 2025's proposal, but not yet in TypeScript's library.
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver?: Reviver) => unknown;

/**
 * Parses JSON. With `exactIntegers`, an integer beyond 2^53 becomes the text of its digits; this costs several times a plain
 * parse, so that only the routes of keys ask for it.
 */
export function parseJson(text: string, { exactIntegers }: { exactIntegers: boolean }): unknown {
  if (!exactIntegers) return JSON.parse(text);
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
      ? source
      : value,
  );
}
