import type { Sandbox } from '@keywarden/sandbox';

/**
 * A way to a sandbox of this process that takes no socket: of lives by the thousand most of the time would be HTTP, which is none of what they are
 * about. Where a fault cuts the connection the request fails as it does over a network; one that is aborted may be done all the same.
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
