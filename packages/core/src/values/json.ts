import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** Returns the canonical JSON of a value, by RFC 8785: equal values are equal bytes. Throws for what JSON cannot hold, such as NaN. */
export function canonicalJson(value: object): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('the value cannot be written as JSON');
  return text;
}

/** Returns the SHA-256 of a text in hexadecimal digits. */
export function sha256(text: string): string {
  return hash('sha256', text);
}

/** Returns the position after a string of JSON that begins at a position; the end of a text that is cut. A string can be longer than expressions match. */
export function endOfString(text: string, from: number): number {
  const isEscaped = (end: number) => {
    let first = end;
    while (text[first - 1] === '\\') first -= 1;
    return (end - first) % 2 === 1;
  };
  for (let end = text.indexOf('"', from + 1); end >= 0; end = text.indexOf('"', end + 1))
    if (!isEscaped(end)) return end + 1;
  return text.length;
}
