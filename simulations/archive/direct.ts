import type { Sandbox } from '@keywarden/sandbox';

/**
 * Returns a fetch to a sandbox in this process that uses no socket. In thousands of simulation runs HTTP would take most of the time, and HTTP is not
 * their subject. If a fault cuts the connection, the request fails as it does over a network. An aborted request may be carried out all the same.
 */
export function directTo({ app }: Pick<Sandbox, 'app'>): typeof fetch {
  return async (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    let isCut = false;
    const outgoing = {
      destroy: () => void (isCut = true),
      writeHead: () => undefined,
      write: (_part: unknown, done: () => void) => done(),
    };
    init?.signal?.throwIfAborted();
    const response = await app.request(`${pathname}${search}`, init, { outgoing });
    init?.signal?.throwIfAborted();
    if (!isCut) return response;
    const cause = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
    throw new TypeError('fetch failed', { cause });
  };
}
