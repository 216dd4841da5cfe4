import { setImmediate } from 'node:timers/promises';
import { sql as fragment } from 'drizzle-orm';
import type postgres from 'postgres';
import { isCluster } from './cluster.ts';
import { pullPages, type Query, type Reader, readerOf, select } from './list.ts';
import { mergeOrdered } from './merge.ts';
import { holdMonths } from './operations/partitions.ts';
import { untilAborted } from './reader.ts';
import type { Run, Sql } from './sql.ts';

/** The store as it was at one moment, unaffected by later writes. It holds a connection until it is closed. */
export interface Snapshot extends Reader {
  /** Streams all items of a list in batches, in constant memory: at most one is read ahead. */
  stream(list: Query): AsyncGenerator<string[]>;
  close(): Promise<void>;
}

const batch = 1000;

/**
 * Opens a snapshot for an answer of any length. Its cursors are SQL's own, because the driver's end without an error if the connection is
 * lost between two reads. An incomplete answer would look complete. A read is canceled when the signal aborts.
 */
export async function openSnapshot(sql: Sql, signal?: AbortSignal): Promise<Snapshot> {
  // Asked before the transaction takes the connection, which may be the pool's last.
  const hasNodes = await isCluster(sql);
  const opened = Promise.withResolvers<postgres.TransactionSql>();
  const closing = Promise.withResolvers<void>();
  const ended = sql.begin('isolation level repeatable read read only', async (tx) => {
    // Forces a plan that returns rows in the order of an index. Otherwise Postgres would sort ten million of them first.
    await tx`set local enable_sort = off`;
    await tx`set local enable_hashjoin = off`;
    await tx`set local statement_timeout = 0`;
    await holdMonths(tx);
    opened.resolve(tx);
    await closing.promise;
  });
  // The transaction rejects when its connection is lost. Its running statement may then wait forever.
  let lost: { error: unknown } | undefined;
  const running = new Set<(error: unknown) => void>();
  ended.catch((error: unknown) => {
    lost = { error };
    opened.reject(error);
    for (const reject of running) reject(error);
  });
  const tx = await opened.promise;
  // Not a race with a promise that lives as long as the stream: that promise would keep the rows of every race.
  const run: Run = async (text, params, asValues) => {
    if (lost !== undefined) throw lost.error;
    const answer = Promise.withResolvers<unknown[]>();
    running.add(answer.reject);
    const send = () => {
      const query = tx.unsafe(text, params);
      return asValues ? query.values() : query;
    };
    (signal === undefined ? send() : untilAborted(signal, send)).then(answer.resolve, answer.reject);
    return await answer.promise.finally(() => running.delete(answer.reject));
  };
  let cursors = 0;
  const reader: Reader = { ...readerOf(run), isCluster: () => Promise.resolve(hasNodes) };
  return {
    ...reader,
    async *stream(list) {
      if (list.parts !== undefined) {
        yield* streamParts(reader, list, list.parts);
        return;
      }
      cursors += 1;
      const cursor = fragment.identifier(`stream_${cursors}`);
      await reader.execute(fragment`declare ${cursor} no scroll cursor for select item from (${select(list)}) listed`);
      const fetchNext = async () => await reader.execute(fragment`fetch ${fragment.raw(String(batch))} from ${cursor}`);
      let next = fetchNext();
      for (;;) {
        const rows = await next;
        const isLast = rows.length < batch;
        // Postgres makes the next rows while the caller writes these. The driver sends a statement at the end of the second turn of the event loop.
        if (!isLast) next = fetchNext();
        next.catch(() => undefined); // the caller may have stopped
        await setImmediate();
        await setImmediate();
        if (rows.length > 0) yield rows.map((row) => String(row.item));
        if (isLast) break;
      }
      await reader.execute(fragment`close ${cursor}`);
    },
    async close() {
      // On a lost connection the driver's commit would end the process.
      if (lost !== undefined) return;
      closing.resolve();
      await ended.catch(() => undefined);
    },
  };
}

/** Streams a list from its parts. A cluster collects the whole result of a cursor before it returns the first row, so the parts are read by pages. */
async function* streamParts(reader: Reader, list: Query, parts: Query[]): AsyncGenerator<string[]> {
  const first = Math.ceil(batch / parts.length);
  const pulls = parts.map((part) => pullPages(reader, part, { first, limit: batch, after: null }));
  for await (const rows of mergeOrdered(pulls, list)) yield rows.map(({ item }) => item);
}
