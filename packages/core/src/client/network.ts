/**
 * Returns the system's code of a failed fetch, such as ECONNRESET, or the error's name if the runtime gives no code. PROXY_407 is a proxy that answered 407
 * instead of connecting.
 */
export function networkCode(error: unknown): string {
  const { code } = systemErrorOf(error);
  const text = error instanceof Error ? messages(error) : '';
  const proxyStatus = refusedTunnel.exec(text)?.[1];
  if (proxyStatus !== undefined) return `PROXY_${proxyStatus}`;
  if (code !== undefined) return code;
  if (!(error instanceof Error)) return 'unknown';
  return denoCodes.find(([pattern]) => pattern.test(text))?.[1] ?? error.name;
}

/** Returns the code and the system call of the first error of a chain of causes that has a code. */
function systemErrorOf(error: unknown): { code?: string; syscall?: unknown } {
  for (let at = error; at instanceof Error; at = at.cause)
    if ('code' in at && typeof at.code === 'string')
      return { code: at.code, syscall: 'syscall' in at ? at.syscall : undefined };
  return {};
}

/** What Node's fetch says of a proxy that refuses. Its code means any request that was aborted. */
const refusedTunnel = /Proxy response \((\d{3})\) !== 200 when HTTP Tunneling/;

/** Deno's fetch gives no codes, but its message names what failed before there was a connection. */
const denoCodes: [RegExp, string][] = [
  [/connection refused|os error 111/i, 'ECONNREFUSED'],
  [/client error \(Connect\): dns error/, 'ENOTFOUND'],
  [/client error \(Connect\): invalid peer certificate/, 'ERR_TLS_CERT'],
];

const unconnected = new Set(
  'ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH UND_ERR_CONNECT_TIMEOUT UNABLE_TO_VERIFY_LEAF_SIGNATURE'.split(
    ' ',
  ),
);

/**
 * Returns whether the fault proves that no byte of the request left. A connection that has carried the request may end with EHOSTUNREACH, too, if its route is
 * lost: the system call is then a read or a write.
 */
export function neverSent(error: unknown): boolean {
  const { syscall } = systemErrorOf(error);
  if (syscall === 'read' || syscall === 'write') return false;
  const code = networkCode(error);
  // An alert of the server, such as ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED, may come after the request.
  return unconnected.has(code) || (/CERT|ERR_TLS_|^PROXY_/.test(code) && !code.startsWith('ERR_SSL_'));
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
 * key would then be minted twice. A connection of its own is never kept alive.
 */
const ownConnection: { client?: object } =
  deno === undefined ? {} : { client: deno.createHttpClient({ poolMaxIdlePerHost: 0 }) };

type Dispatcher = NonNullable<RequestInit['dispatcher']>;

/** Where Node's fetch finds what sends its requests. */
const nodeDispatcher = Symbol.for('undici.globalDispatcher.1');

/**
 * Returns the fetch options for one write, which is sent once at most. After a 421, Node's fetch automatically sends a request again, even a POST. The second
 * time fails here, as an incomplete response does.
 */
export function onlyOnce(): { client?: object; dispatcher?: Dispatcher } {
  // Node sets the dispatcher when one of the classes of its fetch is first named.
  void globalThis.Headers;
  // Deno has none.
  const usual = Reflect.get(globalThis, nodeDispatcher) as Dispatcher | undefined;
  if (usual === undefined) return ownConnection;
  let isSent = false;
  const dispatch: Dispatcher['dispatch'] = (...request) => {
    if (isSent) throw new Error('a write is never sent again');
    isSent = true;
    return usual.dispatch(...request);
  };
  // fetch uses nothing else of it.
  return { ...ownConnection, dispatcher: { dispatch } as Dispatcher };
}
