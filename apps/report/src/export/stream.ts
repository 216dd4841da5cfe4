import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { openSnapshot, type Principal } from '@keywarden/db/report';
import type { Sql } from '@keywarden/db/store';
import type { Logger } from '@keywarden/runtime';
import type { Context } from 'hono';
import type { AccessLog } from '../access/access-log.ts';
import { describeAccess } from '../access/authenticate.ts';
import { Problem, sessionEnded } from '../problem.ts';
import type { Ending, Env, Streamed, Streams } from '../services.ts';

/** The most concurrent streams. Each holds a connection of the store's pool. */
export const mostStreams = 4;
const mostOfOne = 2;

interface StreamOptions {
  sql: Sql;
  log: Logger;
  accessLog: AccessLog;
  /** Returns whether the token or session of an export is still live. */
  isStillLive: (principal: Principal) => Promise<boolean>;
  /** A reader that reads nothing for this long is cut off. The buffers of the system and of a proxy hide a slow reader until it has emptied a part of them. */
  stallMs?: number;
  /** An export that takes longer is cut off, because it holds one of few connections. */
  deadlineMs?: number;
  /** An export goes on for this long without asking whether its token is still live. */
  recheckMs?: number;
}

/** Creates streamed answers. Their concurrency is limited, and the start and end of each are recorded. */
export function createStreams({
  sql,
  log,
  accessLog,
  isStillLive,
  stallMs = 120_000,
  deadlineMs = 1_800_000,
  recheckMs = 5000,
}: StreamOptions): Streams {
  /** The token of each export that runs. */
  const open: string[] = [];

  async function* run(c: Context<Env>, write: Streamed['write']): AsyncGenerator<Uint8Array, void> {
    const { token } = c.get('principal');
    const access = describeAccess(c, { status: 200 });
    let checkedMs = performance.now();
    // A token that is revoked, or a session that ends, ends its exports: a file may take as long as `deadlineMs`.
    const requireLive = async () => {
      if (!(await isStillLive(c.get('principal')))) throw sessionEnded();
      checkedMs = performance.now();
    };
    let ended: Ending | undefined;
    const hash = createHash('sha256');
    // Until there is something to send, a failure is an ordinary answer, which is recorded as such.
    const begin = async () => {
      if (c.get('isStream')) return;
      await accessLog.record({ ...access, stream: 'begun' });
      c.set('isStream', true);
    };
    try {
      const snapshot = await openSnapshot(sql, c.req.raw.signal);
      const chunks = write(snapshot);
      try {
        let next = await chunks.next();
        for (; !next.done; next = await chunks.next()) {
          await begin();
          if (performance.now() - checkedMs >= recheckMs) await requireLive();
          hash.update(next.value);
          yield next.value;
        }
        await begin();
        await requireLive();
        const { last, records, sha256 } = next.value;
        const fileSha256 = hash.update(last).digest('hex');
        await accessLog.record({ ...access, stream: 'complete', records, sha256, fileSha256 });
        ended = next.value;
      } finally {
        await chunks.return(undefined as never); // the value of a generator that ends early is not read
        await snapshot.close();
      }
      yield ended.last;
    } catch (error) {
      if (c.get('isStream') && !c.req.raw.signal.aborted)
        log.error({ err: error, request: access.requestId }, 'an export was cut');
      throw error;
    } finally {
      open.splice(open.indexOf(token), 1);
      if (ended === undefined && c.get('isStream'))
        await accessLog
          .record({ ...access, stream: 'cut', records: null, sha256: null })
          .catch((error: unknown) =>
            log.error({ err: error, request: access.requestId }, 'a cut export could not be recorded'),
          );
    }
  }

  return {
    async answer(c, { fileName, contentType, write }) {
      const isZipped = acceptsGzip(c.req.header('accept-encoding') ?? '') && contentType !== 'application/zip';
      const headers = {
        'content-type': contentType,
        'content-disposition': `attachment; filename="${fileName}"`,
        vary: 'accept-encoding',
        ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
      };
      if (c.req.method === 'HEAD') return c.body(null, 200, headers);
      const { token } = c.get('principal');
      const own = open.filter((each) => each === token).length;
      if (open.length >= mostStreams || own >= mostOfOne) {
        const running = own >= mostOfOne ? `${mostOfOne} exports of this token` : `${mostStreams} exports`;
        const detail = `${running} are running; try again when one has ended.`;
        throw new Problem(429, 'Too many exports', detail, { 'retry-after': '5' });
      }
      open.push(token);
      const chunks = run(c, write);
      const first = await chunks.next();
      const stream = toStream(first, chunks, { stallMs, deadlineMs, cut: cutBy(c, log) });
      // The server reads no body for a client that left before the answer began.
      if (c.req.raw.signal.aborted) {
        await stream.cancel();
        return c.body(null, 200, headers);
      }
      return c.body(isZipped ? stream.pipeThrough(new CompressionStream('gzip')) : stream, 200, headers);
    },
  };
}

/** The most that a reader must take within `stallMs`: a slow reader of a long chunk must not look as if it took nothing. */
const pieceBytes = 262_144;

/** Returns a stream that pulls chunks on demand. A reader that leaves or stalls ends the generator. A generator error visibly cuts the stream. */
function toStream(
  first: IteratorResult<Uint8Array, void>,
  chunks: AsyncGenerator<Uint8Array, void>,
  { stallMs, deadlineMs, cut }: { stallMs: number; deadlineMs: number; cut: Cut },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let next: IteratorResult<Uint8Array, void> | undefined = first;
  let rest = new Uint8Array();
  let stalled: ReturnType<typeof setTimeout> | undefined;
  const endsMs = performance.now() + deadlineMs;
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start(controller) {
        stalled = watch(controller);
      },
      async pull(controller) {
        clearTimeout(stalled);
        // A reader that always reads would never meet the timer.
        if (performance.now() > endsMs) {
          await chunks.return();
          cut(controller, new TooSlow('the export took too long'));
          return;
        }
        if (rest.length === 0) {
          const pulled = next ?? (await chunks.next().catch((error: unknown) => ({ error })));
          if ('error' in pulled) {
            cut(controller, pulled.error);
            return;
          }
          const { done, value } = pulled;
          next = undefined;
          if (done) {
            controller.close();
            return;
          }
          rest = value as Uint8Array<ArrayBuffer>; // buffers use plain memory, never shared memory
        }
        controller.enqueue(rest.subarray(0, pieceBytes));
        rest = rest.subarray(pieceBytes);
        stalled = watch(controller);
      },
      async cancel() {
        clearTimeout(stalled);
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );

  function watch(controller: ReadableStreamDefaultController): ReturnType<typeof setTimeout> {
    const leftMs = endsMs - performance.now();
    const end = () => {
      cut(controller, new TooSlow(leftMs < stallMs ? 'the export took too long' : 'the reader stalled'));
      void chunks.return();
    };
    const timer = setTimeout(end, Math.max(0, Math.min(stallMs, leftMs)));
    timer.unref();
    return timer;
  }
}

class TooSlow extends Error {}

type Cut = (controller: ReadableStreamDefaultController, error: unknown) => void;

/**
 * Returns what ends an answer visibly incomplete: it closes the connection. The server would print the error of a stream beside the lines of the log. Only
 * without a server does the stream fail.
 */
function cutBy(c: Context<Env>, log: Logger): Cut {
  // The server's binding; an app that is called without a server has none.
  const { outgoing } = (c.env ?? {}) as { outgoing?: ServerResponse };
  return (controller, error) => {
    // A failure of the export itself is logged where it arises.
    if (error instanceof TooSlow) log.warn({ request: c.get('requestId'), why: error.message }, 'an export was cut');
    if (outgoing === undefined) {
      // A database's message may contain data.
      const isOurs = error instanceof Problem || error instanceof TooSlow;
      controller.error(isOurs ? error : new Error('an export was cut'));
      return;
    }
    outgoing.destroy();
    controller.close();
  };
}

/** Returns whether a client takes gzip: it names it, and not with a weight of 0. */
const acceptsGzip = (header: string) =>
  header.split(',').some((each) => /^\s*gzip\s*(?!;\s*q=0(\.0*)?\s*$)(;|$)/i.test(each));
