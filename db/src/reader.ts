import { isCluster } from './cluster.ts';
import { type Reader, readerOf } from './list.ts';
import type { Run, Sql } from './sql.ts';

/**
 * Returns reads over a pool. With a signal, each read has a connection of its own and is canceled when the signal aborts.
 */
export function readOver(pool: Sql, signal?: AbortSignal): Reader {
  const run: Run = async (text, params, asValues) => {
    // Without parameters, the driver would send it in the simple protocol, which prepares nothing.
    const options = { prepare: isHot(pool, text), simple: false };
    const send = (sql: Sql) => {
      const query = sql.unsafe(text, params, options);
      return asValues ? query.values() : query;
    };
    if (signal === undefined) return await send(pool);
    refuseAborted(signal);
    const session = await pool.reserve();
    try {
      return await untilAborted(signal, () => send(session));
    } finally {
      session.release();
    }
  };
  return { ...readerOf(run), isCluster: async () => await isCluster(pool) };
}

type Rows = Promise<unknown[]> & { cancel(): void };

/**
 * Returns the rows of a statement, which is not sent or canceled if the signal aborts. It ends after the cancellation has arrived, which otherwise could hit
 * the connection's next statement.
 */
export async function untilAborted(signal: AbortSignal, send: () => Rows): Promise<unknown[]> {
  refuseAborted(signal);
  const query = send();
  let canceled: Promise<unknown> | undefined;
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
    await canceled;
  }
}

/** The reason of an aborted request is not always an error. */
function refuseAborted({ aborted, reason }: AbortSignal): void {
  if (aborted) throw new DOMException(`the client has gone: ${String(reason)}`, 'AbortError');
}

const mostPrepared = 200;
const seenBy = new WeakMap<Sql, Map<string, number>>();

/**
 * Returns whether a statement is worth preparing: planning over the partitions of months costs more than reading a page. Each connection keeps what it
 * has prepared, so only the first 200 texts of a pool are counted, and those that come a third time are prepared.
 */
function isHot(pool: Sql, text: string): boolean {
  const seen = seenBy.get(pool) ?? new Map<string, number>();
  seenBy.set(pool, seen);
  const times = seen.get(text) ?? 0;
  if (times === 0 && seen.size >= mostPrepared) return false;
  if (times < 3) seen.set(text, times + 1);
  return times >= 2;
}
