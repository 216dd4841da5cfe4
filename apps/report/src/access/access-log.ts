import { type Access, recordAccess } from '@keywarden/db/report';
import type { Sql } from '@keywarden/db/store';

export type AccessLog = ReturnType<typeof createAccessLog>;

/** Report tokens, session ids, control-plane keys, and long runs of letters and digits: secrets that a client may put into an address. */
const secret = /(kwr|kws|napi)_[\w-]+|[A-Za-z0-9_]{30,}/g;

/** Returns an address as the log records it: without cursors, which are long and carry no information, and without possible secrets. */
export function redact(text: string): string {
  return text
    .replace(/(^|[?&])cursor=[^&]*/g, '$1cursor=...')
    .replace(secret, '...')
    .slice(0, 2000);
}

/** Creates the access log. Records that arrive during a write are written together in the next statement. */
export function createAccessLog(sql: Sql) {
  let waiting: { access: Access; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let isWriting = false;
  const write = async () => {
    isWriting = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await recordAccess(
          sql,
          batch.map(({ access }) => access),
        );
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isWriting = false;
  };
  return {
    /** Resolves when the record is committed; until then nothing is answered (P1). */
    record: (access: Access) =>
      new Promise<void>((resolve, reject) => {
        const redacted = { ...access, path: redact(access.path), query: redact(access.query) };
        waiting.push({ access: redacted, resolve, reject });
        if (!isWriting) void write();
      }),
  };
}
