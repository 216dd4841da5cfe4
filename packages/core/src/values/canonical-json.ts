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
