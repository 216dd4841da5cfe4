/** Returns the system's code of a failed fetch, such as ECONNRESET, or the error's name if the runtime gives no code. */
export function networkCode(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  // Deno's fetch gives no codes, but its message names a refused connection.
  if (error instanceof Error && /connection refused|os error 111/i.test(messages(error))) return 'ECONNREFUSED';
  return error instanceof Error ? error.name : 'unknown';
}

const unconnected = new Set(
  'ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH UND_ERR_CONNECT_TIMEOUT UNABLE_TO_VERIFY_LEAF_SIGNATURE'.split(
    ' ',
  ),
);

/** Returns whether the fault proves that no byte of the request left. */
export function neverSent(error: unknown): boolean {
  const code = networkCode(error);
  return unconnected.has(code) || /CERT|ERR_TLS_/.test(code);
}

function messages(error: Error): string {
  return error.cause instanceof Error ? `${error.message} ${messages(error.cause)}` : error.message;
}

interface DenoRuntime {
  createHttpClient(options: { poolMaxIdlePerHost: number }): object;
}
// Used only if it exists, and then it is Deno's own object.
const deno = Reflect.get(globalThis, 'Deno') as DenoRuntime | undefined;

/**
 * Fetch options for every write. If a kept-alive connection ends before its response, Deno 2.9 automatically sends the request again, even a POST. A
 * key would then be minted twice. A connection of its own is never kept alive. Node's fetch never resends.
 */
export const ownConnection: { client?: object } =
  deno === undefined ? {} : { client: deno.createHttpClient({ poolMaxIdlePerHost: 0 }) };
