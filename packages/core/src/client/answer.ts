import { Buffer, isAscii, isUtf8 } from 'node:buffer';
import { ControlPlaneError } from './errors.ts';

/**
 * Reads a body as text, `maxBytes` at most: an endless one must not fill the memory. Rejects with `invalid_response` beyond, and for bytes
 * that are no UTF-8.
 */
export async function readBody(response: Response, maxBytes: number): Promise<string> {
  const bytes = await readBytes(response, maxBytes);
  // Most answers are, and are then text without being decoded.
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) throw new ControlPlaneError('invalid_response', 'the answer is not UTF-8');
  return bytes.toString('utf8');
}

async function readBytes(response: Response, maxBytes: number): Promise<Buffer> {
  const { headers, body } = response;
  const announced = Number(headers.get('content-length') ?? Number.NaN);
  if (announced > maxBytes) {
    await body?.cancel();
    throw tooLarge(maxBytes);
  }
  // A length that is announced and not of compressed bytes is kept by HTTP itself.
  if (!Number.isNaN(announced) && !headers.has('content-encoding')) return Buffer.from(await response.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const tooLarge = (maxBytes: number) =>
  new ControlPlaneError('invalid_response', `an answer of more than ${maxBytes} bytes`);

// The third argument of a reviver stands in V8 and in ECMAScript 2025's proposal, but not yet in TypeScript's library.
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver?: Reviver) => unknown;

/**
 * Parses JSON. With `exactIntegers`, an integer beyond 2^53 becomes the text of its digits; this costs several times a plain
 * parse, so that only the routes of keys ask for it.
 */
export function parseJson(text: string, { exactIntegers }: { exactIntegers: boolean }): unknown {
  if (!exactIntegers) return JSON.parse(text);
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
      ? source
      : value,
  );
}

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

/** The message of the control plane's error body, and its own id of the request where it gives one. */
export function readRefusal(text: string): { message: string; requestId: string | null } {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'message' in body) {
      const id = 'request_id' in body ? body.request_id : null;
      return { message: String(body.message), requestId: typeof id === 'string' ? id : null };
    }
  } catch {
    // not the control plane's error body: a proxy's page, perhaps
  }
  return { message: 'no message', requestId: null };
}

/**
 * The service's own id of a request, from an error's body (`told`) or the header that it sends with each answer; null where it has none that can be
 * shown. `hide` takes out what may be secret.
 */
export function requestIdOf({ headers }: Response, told: string | null, hide: (text: string) => string): string | null {
  const id = told ?? headers.get('x-neon-ret-request-id') ?? '';
  return /^[\w.:-]{1,100}$/.test(id) && hide(id) === id ? id : null;
}
