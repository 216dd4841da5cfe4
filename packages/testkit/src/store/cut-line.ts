import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The side of a message at which a line is cut: the server never gets it, or has carried it out and its answer is lost. */
const sides = ['before the message', 'before its answer'] as const;
type Side = (typeof sides)[number];

/** A proxy before a Postgres that cuts one connection at a message. */
export interface CutLine {
  /** The address of the database through the proxy. */
  url: string;
  /**
   * Does some work again and again, each time with a cut at a later message, on one side and then on the other, until no message is left to cut. Messages are
   * counted over all connections, and later connections work. `at` says in words where the cut is. Returns the number of cuts.
   */
  cutEach(work: (at: string) => Promise<void>, step?: number): Promise<number>;
  /** Returns whether the cut of this time has happened. */
  hasCut(): boolean;
  /** Cuts no message until the next time. */
  repair(): void;
  close(): Promise<void>;
}

/**
 * Starts the proxy. A message is what a client sends up to a Sync, or a simple Query: the server answers it with ReadyForQuery. Source: Postgres's protocol,
 * message flow.
 */
export async function openCutLine(databaseUrl: string): Promise<CutLine> {
  const { hostname, port } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let left = Infinity;
  let side: Side = sides[0];
  let hasCut = false;
  /** Counts a message. Returns the side at which the line is cut there. */
  const count = (): Side | null => {
    left -= 1;
    if (left !== 0) return null;
    return side;
  };
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      // Each message is a write of its own, and must not wait until the one before is acknowledged.
      one.setNoDelay(true);
      one.on('error', () => undefined);
      one.once('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    const cut = () => {
      hasCut = true;
      near.resetAndDestroy();
      far.destroy();
    };
    // The server answers each message once, and once when the session begins.
    let sent = 0;
    let lastAnswer = Infinity;
    let answered = -1;
    const asked = readMessages({ startsUntyped: true });
    near.on('data', (bytes) => {
      for (const message of asked(bytes)) {
        const isWhole = message.type === 'S' || message.type === 'Q';
        if (isWhole && lastAnswer === Infinity) {
          sent += 1;
          const at = count();
          if (at === sides[0]) return cut();
          if (at === sides[1]) lastAnswer = sent - 1;
        }
        far.write(message.bytes);
      }
      return undefined;
    });
    const answers = readMessages({ startsUntyped: false });
    far.on('data', (bytes) => {
      for (const message of answers(bytes)) {
        if (answered >= lastAnswer) {
          // Only the end of the answer shows that the server has carried the message out.
          if (message.type === 'Z') return cut();
          continue;
        }
        if (message.type === 'Z') answered += 1;
        near.write(message.bytes);
      }
      return undefined;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: ownPort } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(ownPort) }).href,
    async cutEach(work, step = 1) {
      let cuts = 0;
      for (const each of sides)
        for (let nth = 1; ; nth += step) {
          [left, side, hasCut] = [nth, each, false];
          await work(`a line cut ${each} ${nth}`);
          if (!hasCut) break;
          cuts += 1;
        }
      left = Infinity;
      return cuts;
    },
    hasCut: () => hasCut,
    repair() {
      left = Infinity;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns a function that splits a stream into its messages. The first message of a client has no type. */
function readMessages({ startsUntyped }: { startsUntyped: boolean }) {
  let rest = Buffer.alloc(0);
  let isUntyped = startsUntyped;
  return (bytes: Buffer): { type: string; bytes: Buffer }[] => {
    rest = Buffer.concat([rest, bytes]);
    const found = [];
    for (;;) {
      const header = isUntyped ? 0 : 1;
      if (rest.length < header + 4) return found;
      const length = header + rest.readInt32BE(header);
      if (rest.length < length) return found;
      found.push({ type: isUntyped ? '' : rest.toString('latin1', 0, 1), bytes: rest.subarray(0, length) });
      rest = rest.subarray(length);
      isUntyped = false;
    }
  };
}
