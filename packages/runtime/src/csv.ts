import { stringify } from 'csv-stringify/sync';

/** A formula after leading whitespace, which spreadsheets still run. */
const indentedFormula = /^\s+[=+\-@＝＋－＠]/;

/**
 * Returns rows as CSV (RFC 4180). An apostrophe precedes each text that a spreadsheet would run as a formula; spreadsheets then treat it as text. Numbers
 * stay numbers. `lineEnd` is CRLF by default, as the standard wants; a terminal takes LF.
 */
export function writeCsv(rows: (string | number | null)[][], { lineEnd = '\r\n' } = {}): string {
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === 'string' && indentedFormula.test(cell) ? `'${cell}` : cell)),
  );
  return stringify(cells, { escape_formulas: true, record_delimiter: lineEnd, quoted_match: /[;\t\r\n]|^\s|\s$/ });
}

/** Returns a value as a CSV cell. Numbers stay numbers; lists and free-form objects are JSON. */
export function csvCell(value: unknown): string | number | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'string') return value;
  return JSON.stringify(value);
}
