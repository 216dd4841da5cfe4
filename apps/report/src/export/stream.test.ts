import { randomBytes } from 'node:crypto';
import { createLogger } from '@keywarden/runtime';
import { fixture, useServedFixture } from '@keywarden/testkit/report/served-fixture';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import type { Env } from '../services.ts';
import { createStreams } from './stream.ts';

useServedFixture();

test('a long chunk is passed on in pieces: a slow reader that goes on is not cut off as one that takes nothing', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  const streams = createStreams({
    sql,
    log: createLogger('test', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' }),
    accessLog: { record: async () => await Promise.resolve() },
    isStillLive: async () => await Promise.resolve(true),
  });
  const chunks = [randomBytes(1_000_000), Buffer.from(''), randomBytes(65_536)];
  const last = Buffer.from('end');
  const app = new Hono<Env>();
  app.get('/', async (c) => {
    c.set('principal', { token: '1', name: 'x', role: 'auditor', organizations: null, session: null, credential: '' });
    const write = async function* () {
      for (const chunk of chunks) yield await Promise.resolve(chunk);
      return { last, records: 0, sha256: '' };
    };
    return await streams.answer(c, { fileName: 'x', contentType: 'text/plain', write });
  });
  const pieces: Uint8Array[] = [];
  for await (const piece of (await app.request('/')).body ?? []) pieces.push(piece);
  expect(Math.max(...pieces.map(({ length }) => length))).toBe(262_144);
  expect(Buffer.concat(pieces).equals(Buffer.concat([...chunks, last]))).toBe(true);
});

test('an export whose reader leaves before the first rows are read is canceled, and releases its connection at once', async () => {
  const client = new AbortController();
  const headers = { authorization: `Bearer ${fixture.tokens.auditor}` };
  let asked: Promise<Response> | undefined;
  await fixture.store.sql.begin(async (tx) => {
    await tx`lock table keywarden.credential in access exclusive mode`;
    asked = Promise.resolve(fixture.app.request('/v1/exports/keys', { headers, signal: client.signal }));
    await fixture.store.untilBlocked(asked);
    client.abort();
    // The table stays locked: only the cancellation ends the read.
    await asked;
  });
  const [open] = await fixture.store.sql`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and xact_start is not null and pid <> pg_backend_pid()`;
  expect(open?.n).toBe(0);
  const rows = await fixture.store.sql`select stream from keywarden.access_log order by number`;
  expect(rows.map(({ stream }) => stream)).toEqual([null]);
});
