import type { AddressInfo } from 'node:net';
import { type createApp, makeServer } from '@keywarden/report';

/** Serves an app over a socket, by the report's own server, for behaviour that only a connection shows. */
export async function listen(
  app: Pick<ReturnType<typeof createApp>, 'fetch'>,
): Promise<{ url: string; port: number; close(): Promise<void> }> {
  const server = makeServer(app.fetch);
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
