import { styleText } from 'node:util';
import { stringify } from 'csv-stringify/sync';

/**
 * Control characters except tab and line feed, and characters that are invisible or change the writing direction. On a terminal they can hide, move
 * or forge the text beside them. Source: Unicode categories Cc and Cf, and the line and paragraph separators.
 */
const invisible = /(?![\t\n])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Returns a text from outside in a form safe for a terminal: each such character as its number, such as `\u{1b}`. Keeps line feeds. */
export function printable(text: string): string {
  return text.replaceAll(invisible, (each) => `\\u{${each.codePointAt(0)?.toString(16)}}`);
}

/** Returns the same on one line, for a cell of a table. */
export function printableCell(text: string): string {
  return printable(text).replaceAll(/[\t\n]/g, (each) => (each === '\n' ? String.raw`\n` : String.raw`\t`));
}

/** Returns JSON in which such characters are escaped. Its value is the same. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(invisible, (each) =>
    [...Array(each.length).keys()].map((at) => `\\u${each.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** A tag or such a character, except a joiner between two characters beyond ASCII: emoji and many languages need it. */
const tagOrInvisible = new RegExp(
  String.raw`<[^>]*>|(?!(?<=[^\0-\x7f])[\u200c\u200d][^\0-\x7f])${invisible.source}`,
  'gu',
);

/** Returns a page of HTML in which such characters outside of tags are shown, so that a name looks like no other. Attributes keep their values. */
export function printableHtml(page: string): string {
  // Most pages have none, and few characters beyond ASCII: to look at these alone takes a quarter of the time.
  if (page.replaceAll(/[\t\n -~]+/g, '').search(invisible) < 0) return page;
  return page.replaceAll(tagOrInvisible, (each) => (each.startsWith('<') ? each : printable(each)));
}

/** Prints a message for a person on standard error. */
export function printError(text: string): void {
  console.error(printable(text));
}

/** A line of headers: names in capitals, apart by at least two spaces. */
const headerLine = /^[A-Z]+(?: [A-Z]+)*(?: {2,}[A-Z]+(?: [A-Z]+)*)+$/gm;

/** Prints a command's result on standard output. The headers of tables are bold on a terminal, unless NO_COLOR is set. */
export function print(text: string): void {
  console.log(printable(text).replaceAll(headerLine, (line) => styleText('bold', line)));
}

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
