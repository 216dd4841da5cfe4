import { serve } from '@hono/node-server';
import type { createApp } from '@keywarden/report';

/** Serves an app over a socket, for behaviour that only a connection shows. */
export async function listen(app: ReturnType<typeof createApp>): Promise<{ url: string; close(): Promise<void> }> {
  return await new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
      resolve({
        url: `http://127.0.0.1:${port}`,
        close: () => new Promise((closed) => server.close(() => closed())),
      }),
    );
  });
}
