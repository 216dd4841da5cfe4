// JSON.rawJSON is in V8 and in the ECMAScript proposal, but not yet in TypeScript's library.
const json = JSON as unknown as { rawJSON(text: string): object };

/** Returns an int64 that is written into JSON with every digit. The input is the decimal text that SQLite returns. */
export function int64(digits: string): object {
  return json.rawJSON(digits);
}

/** Returns the fields that are set: the control plane leaves out null fields. */
export function present(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}
