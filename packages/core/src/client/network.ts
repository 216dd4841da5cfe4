/** The system's code of a failed fetch, like ECONNRESET; the error's name where the runtime gives none. */
export function networkCode(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  // Deno's fetch has no codes; its message for a refused connection does.
  if (error instanceof Error && /connection refused|os error 111/i.test(messages(error))) return 'ECONNREFUSED';
  return error instanceof Error ? error.name : 'unknown';
}

const unconnected = new Set(
  'ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH UND_ERR_CONNECT_TIMEOUT UNABLE_TO_VERIFY_LEAF_SIGNATURE'.split(
    ' ',
  ),
);

/** Whether the fault says that no byte of the request left. */
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
// Only looked at where it is there, and then it is Deno's own object.
const deno = Reflect.get(globalThis, 'Deno') as DenoRuntime | undefined;

/**
 * Goes into the options of each fetch that writes. When a kept connection ends before its answer, Deno 2.9 sends the request again by
 * itself, a POST as well: a key would be minted twice. A connection of its own is never kept. Node's fetch sends nothing again.
 */
export const ownConnection: { client?: object } =
  deno === undefined ? {} : { client: deno.createHttpClient({ poolMaxIdlePerHost: 0 }) };
