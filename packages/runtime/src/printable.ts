/**
 * Control characters but tab and line feed, and characters that show nothing or turn the direction of writing: on a terminal they hide, move or
 * forge what stands beside them. Source: Unicode categories Cc and Cf, and its line and paragraph separators.
 */
const invisible = /(?![\t\n])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A text from elsewhere as a terminal may show it: each such character as its number, as in `\u{1b}`. Line feeds stay. */
export function printable(text: string): string {
  return text.replaceAll(invisible, (each) => `\\u{${each.codePointAt(0)?.toString(16)}}`);
}

/** The same in one line, for a cell of a table. */
export function printableCell(text: string): string {
  return printable(text).replaceAll(/[\t\n]/g, (each) => (each === '\n' ? String.raw`\n` : String.raw`\t`));
}

/** JSON in which such characters are written as escapes: the value that it stands for is the same. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(invisible, (each) =>
    [...Array(each.length).keys()].map((at) => `\\u${each.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** Prints what a person should know on standard error. */
export function printError(text: string): void {
  console.error(printable(text));
}

/** Prints a command's result on standard output. */
export function print(text: string): void {
  console.log(printable(text));
}
