/** Parses JSON. Throws an Error if an object has a member twice: programs read different ones of the two. */
export function parseOnce(text: string): unknown {
  const value = JSON.parse(text) as unknown;
  const names = text.match(/"(?:[^"\\]|\\.)*"(?:\s*:)?/g) ?? [];
  if (names.filter((each) => each.endsWith(':')).length !== countMembers(value))
    throw new Error('an object has a member twice');
  return value;
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, each) => sum + countMembers(each), own);
}
