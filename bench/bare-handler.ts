import { serve } from '@hono/node-server';
import { operationList, select, toStatement } from '@keywarden/db/report';
import { openStore } from '@keywarden/db/store';
import { sql as fragment } from 'drizzle-orm';
import { Hono } from 'hono';

// The yardstick of `bench report`: one route that runs the same statement with the same driver, and does nothing else.

const store = await openStore({
  databaseUrl: process.env.DATABASE_URL,
  dataFolder: '',
  applicationName: 'bare handler',
  role: 'keywarden_report',
});
const { text, params } = toStatement(fragment`${select(operationList({}, null))} limit 101`);
const app = new Hono();
app.get('/', async (c) => {
  const rows = await store.sql.unsafe(text, params);
  const items = rows.slice(0, 100).map((row) => String(row.item));
  return c.body(`{"items":[${items.join(',')}]}`, 200, { 'content-type': 'application/json' });
});
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
  process.send?.({ ready: { url: `http://127.0.0.1:${port}` } }),
);
process.once('disconnect', () => {
  server.close();
  void store.close();
});
