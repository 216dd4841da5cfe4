import { once } from 'node:events';
import type { Server } from 'node:http';

/** How long answers that are being sent may take once a server stops. */
const lastAnswersMs = 2000;

export interface Listening {
  port: number;
  /** Stops, and cuts answers that are not finished after `lastAnswersMs`. */
  close: () => Promise<void>;
}

/** Listens; port 0 picks a free one. Rejects with the system's error, such as EADDRINUSE. */
export async function listen(server: Server, { host, port }: { host: string; port: number }): Promise<Listening> {
  await once(server.listen(port, host), 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), lastAnswersMs).unref();
      }),
  };
}
