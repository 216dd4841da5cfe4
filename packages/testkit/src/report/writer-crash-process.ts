import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { openStore, type StoreRole } from '@keywarden/db/store';
import { workOnOrder } from '../crash-order.ts';
import { makeApp } from './app.ts';
import { type WriterOrder, writerName, writers } from './writers.ts';

// A process that runs one writer of governed rows, and kills itself after a message to the database.

workOnOrder(run);

async function run({ databaseUrl, writer, rows, killAfter }: WriterOrder): Promise<void> {
  const open = async (role?: StoreRole) =>
    await openStore({
      databaseUrl,
      dataFolder: tmpdir(),
      applicationName: writerName,
      // An export holds one, and its records need another.
      maxConnections: 2,
      ...(role === undefined ? {} : { role }),
    });
  const [owner, daemon, admin] = [await open(), await open('keywarden_daemon'), await open('keywarden_admin')];
  const { app } = await makeApp({ as: open });
  dieAfter(killAfter);
  await writers[writer]?.write({ owner, daemon, admin, app, rows });
}

/**
 * Kills this process right after it has sent its n-th message that writes, so that the database may be in the middle of it. Other messages only read: a kill
 * there leaves the same rows. The process has no other sockets than those to the database.
 */
function dieAfter(nth: number): void {
  // Its overloads differ in later arguments only, which pass through.
  const sockets = Socket.prototype as unknown as { write: (this: Socket, ...given: unknown[]) => boolean };
  const { write } = sockets;
  const reads = createReadDetector();
  let seen = 0;
  sockets.write = function (...given) {
    const isRead = reads(Buffer.from(given[0] as Uint8Array).toString('latin1'));
    const sent = write.apply(this, given);
    if (!isRead) seen += 1;
    if (!isRead && seen === nth) process.kill(process.pid, 'SIGKILL');
    return sent;
  };
}

/** A query that changes nothing. Functions of the store may write. */
const reading = /^(?!.*\b(insert|update|delete|begin|commit|keywarden\.\w+ ?\()).*\bselect\b/is;

/** Returns a function that tells whether a message only parses or runs a query that reads. Source: Postgres's protocol, Parse and Bind. */
function createReadDetector(): (message: string) => boolean {
  const isReading = new Map<string, boolean>();
  return (message) => {
    const [first = '', second = ''] = message.slice(5).split('\0');
    if (message.startsWith('P')) isReading.set(first, reading.test(second));
    if (message.startsWith('P')) return isReading.get(first) === true;
    return message.startsWith('B') && isReading.get(second) === true;
  };
}
