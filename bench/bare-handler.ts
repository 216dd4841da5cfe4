import { serve } from '@hono/node-server';
import { keyList, operationList, select, toStatement } from '@keywarden/db/report';
import { openStore } from '@keywarden/db/store';
import { Hono } from 'hono';

// The yardstick of `bench report`: routes that run the statement of a list with the same driver, and do nothing else.

const store = await openStore({
  databaseUrl: process.env.DATABASE_URL,
  dataFolder: '',
  applicationName: 'bare handler',
  role: 'keywarden_report',
});
const app = new Hono();
const lists = { operations: operationList({}, null), keys: keyList({ isThere: true }, { organizations: null }) };
for (const [name, list] of Object.entries(lists)) {
  const { text, params } = toStatement(select(list, { limit: 101 }));
  app.get(`/${name}`, async (c) => {
    const rows = await store.sql.unsafe(text, params);
    const items = rows.slice(0, 100).map((row) => String(row.item));
    return c.body(`{"items":[${items.join(',')}]}`, 200, { 'content-type': 'application/json' });
  });
}
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
  process.send?.({ ready: { url: `http://127.0.0.1:${port}` } }),
);
process.once('disconnect', () => {
  server.close();
  void store.close();
});
