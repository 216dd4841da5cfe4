import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type createApp, makeServer } from '@keywarden/report';

/** A server on a port of loopback. */
export interface Served {
  url: string;
  port: number;
  close: () => Promise<void>;
}

/** Serves an app over a socket, by the report's own server, for behaviour that only a connection shows. */
export const listen = async (app: Pick<ReturnType<typeof createApp>, 'fetch'>): Promise<Served> =>
  await listenWith(makeServer(app.fetch));

/** Lets a server listen on a free port of loopback. */
export async function listenWith(server: Server): Promise<Served> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a server that listens on a port has no other address
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
