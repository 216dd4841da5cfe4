/** A cache's `Age` in ms. One that cannot be read is of a cache all the same, and says nothing of how old the answer is. */
export function readAgeMs(headers: Headers): number {
  const age = headers.get('age');
  if (age === null) return 0;
  return /^\d+$/.test(age) ? Number(age) * 1000 : Number.POSITIVE_INFINITY;
}

/** The control plane's own `Date` in ms; null where there is none that can be read. */
export function readDateMs(headers: Headers): number | null {
  const dateMs = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(dateMs) ? null : dateMs;
}
