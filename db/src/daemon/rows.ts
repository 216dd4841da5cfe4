/**
 * Rows as the JSON text that a statement takes apart. Postgres has no NUL character in text: one is replaced, so that one odd
 * row does not keep all others out.
 */
export function toRowsJson(rows: object[]): string {
  const text = JSON.stringify(rows);
  if (!text.includes('\\u0000')) return text;
  return JSON.stringify(rows, (_key, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value,
  );
}

/** One row an id, the last: a list whose pages shift while rows arrive shows one twice. */
export function lastOfEach<T extends { id: string }>(rows: T[]): T[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}
