import { Buffer, isAscii, isUtf8 } from 'node:buffer';
import { ControlPlaneError } from './errors.ts';

/**
 * Returns a body as text. Reads `maxBytes` at most, so that an endless body cannot fill the memory. Rejects with `invalid_response` for a longer
 * body, and for bytes that are not UTF-8.
 */
export async function readBody(response: Response, maxBytes: number): Promise<string> {
  const bytes = await readBytes(response, maxBytes);
  // Most bodies are ASCII, which needs no decoding.
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) throw new ControlPlaneError('invalid_response', 'the response is not UTF-8');
  return bytes.toString('utf8');
}

/** Returns a body, as `readBody` does. */
export async function readBytes(response: Response, maxBytes: number): Promise<Buffer> {
  const { headers, body } = response;
  const announced = Number(headers.get('content-length') ?? Number.NaN);
  if (announced > maxBytes) {
    await body?.cancel();
    throw tooLarge(maxBytes);
  }
  // HTTP itself enforces an announced length, unless the body is compressed or comes in chunks, beside which Deno ignores the length.
  if (!Number.isNaN(announced) && !headers.has('content-encoding') && !headers.has('transfer-encoding'))
    return Buffer.from(await response.arrayBuffer());
  // Each chunk is copied, because a small one may be a part of a large buffer: Deno has one of 64 KB for each.
  let bytes = Buffer.alloc(65_536);
  let size = 0;
  for await (const chunk of body ?? []) {
    if (size + chunk.length > maxBytes) throw tooLarge(maxBytes);
    if (size + chunk.length > bytes.length) bytes = Buffer.concat([bytes], 2 * (size + chunk.length));
    bytes.set(chunk, size);
    size += chunk.length;
  }
  return bytes.subarray(0, size);
}

const tooLarge = (maxBytes: number) =>
  new ControlPlaneError('invalid_response', `the response has more than ${maxBytes} bytes`);

// V8 and the ECMAScript 2025 proposal pass a reviver a third argument; TypeScript's library does not declare it yet.
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver?: Reviver) => unknown;

/** A number of 16 digits or more, which may be beyond 2^53. Almost no response has one. */
const manyDigits = /[:,[]\s*-?\d{16}/;

/** Parses JSON. An integer beyond 2^53 becomes the text of its digits. */
export function parseJson(text: string): unknown {
  // With a reviver, parsing takes several times as long.
  if (!manyDigits.test(text)) return JSON.parse(text);
  try {
    return parseWithSource(text, exactInteger);
  } catch (error) {
    // A value is nested too deep for a reviver. Its row is unreadable, and so are rows with such integers; the others are not.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
}

const exactInteger: Reviver = (_key, value, { source }) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
    ? source
    : value;

/** Returns a cache's `Age` in ms: 0 without one, Infinity for an unreadable one. An unreadable `Age` still means a cached response, of unknown age. */
export function readAgeMs(headers: Headers): number {
  const age = headers.get('age');
  if (age === null) return 0;
  return /^\d+$/.test(age) ? Number(age) * 1000 : Number.POSITIVE_INFINITY;
}

/** Returns the control plane's own `Date` in ms, or null if it is absent or unreadable. */
export function readDateMs(headers: Headers): number | null {
  const dateMs = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(dateMs) ? null : dateMs;
}

/** Returns the message of the control plane's error body, and the control plane's own request id if the body has one. */
export function readRefusal(text: string): { message: string; requestId: string | null } {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'message' in body) {
      const id = 'request_id' in body ? body.request_id : null;
      return { message: String(body.message), requestId: typeof id === 'string' ? id : null };
    }
  } catch {
    // not the control plane's error body; it may be a proxy's page
  }
  return { message: 'no message', requestId: null };
}

/** Shorter ids may be counters that begin again. */
const uniqueLength = 16;

/** As many answers as half an hour and more of requests at the default limits. */
const mostAnswerIds = 20_000;

/**
 * Returns whether an earlier answer had this id: then a cache repeats that answer. Some caches, such as nginx, write a new Date and no Age. Otherwise
 * it adds the id to the known ones, and forgets the oldest.
 */
export function isRepeated(known: Set<string>, { baseUrl, id }: { baseUrl: string; id: string | null }): boolean {
  if (id === null || id.length < uniqueLength) return false;
  const answer = `${baseUrl} ${id}`;
  if (known.has(answer)) return true;
  known.add(answer);
  const [oldest] = known.size > mostAnswerIds ? known : [];
  if (oldest !== undefined) known.delete(oldest);
  return false;
}

/**
 * Returns the service's own id of a request. It comes from an error's body (`bodyId`) or from the response header. Null if there is none that can be
 * shown: one with the credential cannot.
 */
export function requestIdOf(
  { headers }: Response,
  bodyId: string | null,
  hide: (text: string) => string,
): string | null {
  const id = bodyId ?? headers.get('x-neon-ret-request-id') ?? '';
  return /^[\w.:-]{1,100}$/.test(id) && hide(id) === id ? id : null;
}
