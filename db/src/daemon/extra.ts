/** What a timestamptz gives back letter for letter: UTC, at most six digits of fraction, no zero at its end. */
const canonical = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?Z$/;

/**
 * The jsonb of a row: unknown fields, and under their own names the times that the column could not give back as they came.
 * Null when there is neither.
 */
export function packExtra(
  extra: Record<string, unknown> | null,
  times: Record<string, string | null | undefined>,
): Record<string, unknown> | null {
  const odd = Object.entries(times).filter(([, at]) => typeof at === 'string' && !canonical.test(at));
  return odd.length === 0 ? extra : { ...extra, ...Object.fromEntries(odd) };
}
