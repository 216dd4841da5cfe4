import { once } from 'node:events';
import type { Server } from 'node:http';
import { isIPv6, type Socket } from 'node:net';

/** How long answers that are being sent may take once a server stops. */
const lastAnswersMs = 2000;
/** How long a connection may be idle. A proxy keeps one for up to two minutes: if it ended here first, the request that the proxy just sends over it would fail. */
const idleMs = 130_000;

export interface Listening {
  /** The host and port as an address on the web has them: `127.0.0.1:8820` or `[::1]:8820`. */
  address: string;
  /** Stops, and cuts connections whose answers are not finished after `lastAnswersMs`. */
  close: () => Promise<void>;
}

/** Listens; port 0 picks a free one. Rejects with the system's error, such as EADDRINUSE. */
export async function listen(server: Server, { host, port }: { host: string; port: number }): Promise<Listening> {
  // A server counts a connection as its own only once its TLS has begun. One that sends nothing would delay the stop for minutes.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.keepAliveTimeout = idleMs;
  await once(server.listen(port, host), 'listening');
  const bound = server.address();
  return {
    address: `${isIPv6(host) ? `[${host}]` : host}:${typeof bound === 'object' && bound !== null ? bound.port : port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => {
          for (const socket of sockets) socket.destroy();
        }, lastAnswersMs).unref();
      }),
  };
}
