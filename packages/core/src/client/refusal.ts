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
