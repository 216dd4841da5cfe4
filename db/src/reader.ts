import { isCluster } from './cluster.ts';
import { type Reader, toStatement } from './list.ts';
import type { Sql } from './sql.ts';

/**
 * Returns reads over a pool. With a signal, each read has a connection of its own and is canceled when the signal aborts. The connection goes back
 * to the pool after the cancellation has arrived, which otherwise could hit the connection's next statement.
 */
export function readOver(pool: Sql, signal?: AbortSignal): Reader {
  return {
    isCluster: async () => await isCluster(pool),
    async execute(statement) {
      const { text, params } = toStatement(statement);
      const options = { prepare: isHot(text) };
      if (signal === undefined) return await pool.unsafe(text, params, options);
      refuseAborted(signal);
      const session = await pool.reserve();
      let canceled: PromiseLike<unknown> | undefined;
      try {
        refuseAborted(signal);
        const query = session.unsafe(text, params, options);
        const cancel = () => {
          // The driver's type is void; the patched driver returns when the server has taken the request.
          const sent = query.cancel() as unknown as Promise<unknown> | null;
          canceled = Promise.resolve(sent).catch(() => undefined);
        };
        signal.addEventListener('abort', cancel, { once: true });
        try {
          return await query;
        } finally {
          signal.removeEventListener('abort', cancel);
        }
      } finally {
        await canceled;
        session.release();
      }
    },
  };
}

/** The reason of an aborted request is not always an error. */
function refuseAborted({ aborted, reason }: AbortSignal): void {
  if (aborted) throw new DOMException(`the client has gone: ${String(reason)}`, 'AbortError');
}

const mostPrepared = 200;
const seen = new Map<string, number>();

/**
 * Returns whether a statement is worth preparing: planning over the partitions of months costs more than reading a page. Each connection keeps what it
 * has prepared, so only the first 200 texts are counted, and those that come a third time are prepared.
 */
function isHot(text: string): boolean {
  const times = seen.get(text) ?? 0;
  if (times === 0 && seen.size >= mostPrepared) return false;
  if (times < 3) seen.set(text, times + 1);
  return times >= 2;
}
