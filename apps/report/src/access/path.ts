/** The letters, digits and marks that a URL never needs to encode (RFC 3986: unreserved), in their percent form. */
const encoded = /%([46][1-9a-f]|[57][\da]|3\d|2[de]|5f|7e)/gi;

/**
 * Returns the path of a URL with each letter as itself. The router takes `/v1/%6beys` for `/v1/keys`, so all that decides by a path must take it for the
 * same. Other characters stay encoded: a path of the log has no control characters.
 */
export function pathOf(url: string): string {
  return new URL(url).pathname.replace(encoded, (_code, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
