/** Shorter texts are in an answer by chance, and are no credentials. Those of the control plane have 60 characters or more. */
export const shortestSecret = 12;

/**
 * Returns a function that removes a credential from a text: a control plane, or a proxy before it, may repeat it in a response. It finds the credential as it
 * is, in base64 alone or within a longer text, and each of these with any characters escaped as in JSON or in an address, also more than once.
 */
export function hiderOf(secret: string): (text: string) => string {
  const encoded = [0, 1, 2].map((before) => inBase64(secret, before));
  const forms = [secret, ...encoded.filter(({ length }) => length >= shortestSecret)];
  const expression = new RegExp(forms.map((form) => Array.from(form, anyFormOf).join('')).join('|'), 'g');
  return (text) => text.replace(expression, '[redacted]');
}

/** Returns the characters that the secret alone determines in the base64 of a text that has `before` bytes, or three or six more, before it. */
function inBase64(secret: string, before: number): string {
  const bits = 8 * (before + secret.length);
  return btoa('x'.repeat(before) + secret).slice(Math.ceil((8 * before) / 6), Math.floor(bits / 6));
}

/** What else may be in the place of a character: with a backslash before it, or another one in the base64 of addresses. */
const others: Record<string, string> = {
  '/': String.raw`|(?<!\\)\\+/|_`,
  '"': String.raw`|(?<!\\)\\+"`,
  '\\': String.raw`|\\{2,4}`,
  '+': '|-',
};

/** Returns the source of an expression for one ASCII character as it is or escaped. It takes backslashes from their first, so that no text takes long. */
function anyFormOf(character: string): string {
  const hex = character.charCodeAt(0).toString(16).padStart(2, '0');
  const anyCase = hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  return String.raw`(?:\x${hex}|(?<!\\)\\+u00${anyCase}|%(?:25)*${anyCase}${others[character] ?? ''})`;
}
