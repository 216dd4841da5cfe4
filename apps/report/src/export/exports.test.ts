import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { saveOperationPage } from '@keywarden/db/daemon';
import { operationList, type Snapshot } from '@keywarden/db/report';
import { createLogger } from '@keywarden/runtime';
import { until } from '@keywarden/testkit';
import { operationCount } from '@keywarden/testkit/report/fixture';
import { fixture, server, useServedFixture } from '@keywarden/testkit/report/served-fixture';
import { makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { Hono } from 'hono';
import { expect, test, vi } from 'vitest';
import type { Env } from '../services.ts';
import type { Format, Trailer } from './encode.ts';
import { createStreams, mostStreams } from './stream.ts';

const many = 20_000;
useServedFixture();

/** Asks for an answer that is not compressed: a large one then does not fit into the buffers of a connection, and waits for its reader. */
const ask = async (path: string, headers: Record<string, string> = {}, signal: AbortSignal | null = null) =>
  await fetch(`${server.url}${path}`, {
    headers: { authorization: `Bearer ${fixture.tokens.auditor}`, 'accept-encoding': 'identity', ...headers },
    signal,
  });

/** Returns the last line of an export, and whether its hash matches everything before it. */
function proofOf(text: string, format: Format): Trailer & { isWhole: boolean } {
  const cut = text.trimEnd().lastIndexOf('\n') + 1;
  const [body, last] = [text.slice(0, cut), text.slice(cut).trim()];
  const json = {
    ndjson: () => (JSON.parse(last) as { trailer: Trailer }).trailer,
    json: () => (JSON.parse(text) as { trailer: Trailer }).trailer,
    csv: () => JSON.parse(last.slice('"# trailer '.length, -1).replaceAll('""', '"')) as Trailer,
  }[format]();
  return { ...json, isWhole: createHash('sha256').update(body).digest('hex') === json.sha256 };
}

const names = ['keys', 'findings', 'revocations', 'reviews', 'operations'];

test.each(names.flatMap((name) => (['ndjson', 'csv', 'json'] as const).map((format) => [name, format] as const)))(
  'P3: %s as %s ends with a line that proves it complete',
  async (name, format) => {
    const answer = await ask(`/v1/exports/${name}?format=${format}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-disposition')).toContain(`keywarden-${name}.${format}`);
    const proof = proofOf(await answer.text(), format);
    expect(proof).toMatchObject({ complete: true, isWhole: true });
    const { body } = await fixture.ask(name === 'reviews' ? '/v1/reviews' : `/v1/${name}`);
    expect(proof.count).toBe(body.items.length);
    expect(proof.holes).toBeDefined();
  },
);

test('P3: the trailer of operations names only the coverage gaps of the requested times', async () => {
  const gapsOf = async (query: string) =>
    proofOf(await (await ask(`/v1/exports/operations?${query}`)).text(), 'ndjson').holes as object[];
  expect(await gapsOf('project_id=quiet-river')).not.toEqual([]);
  expect(await gapsOf('project_id=quiet-river&from=2026-05-02T00:00:00Z&to=2026-05-19T00:00:00Z')).toEqual([]);
  // Times that begin or end within a gap: that of a project that no walk has read.
  const [plane] = await fixture.store.sql`select number from keywarden.control_plane order by number limit 1`;
  const unwalked = await makeProject(fixture.daemon.sql, String(plane?.number));
  await fixture.store.sql`
    update keywarden.project set created_at = '2026-04-01', last_seen_at = '2026-05-01' where number = ${unwalked}`;
  const gap = expect.objectContaining({ from: '2026-04-01T00:00:00Z', reason: 'not_walked' }) as object;
  expect(await gapsOf('from=2026-04-10T00:00:00Z')).toContainEqual(gap);
  expect(await gapsOf('to=2026-04-10T00:00:00Z')).toContainEqual(gap);
  await fixture.store.sql`delete from keywarden.project where number = ${unwalked}`;
});

test('an export and a list show a record in the same form', async () => {
  const [line] = (await (await ask('/v1/exports/operations')).text()).split('\n');
  expect(JSON.parse(String(line))).toEqual((await fixture.ask('/v1/operations?limit=1')).body.items[0]);
});

test('an export is compressed on request', async () => {
  const answer = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        `GET /v1/exports/operations HTTP/1.0\r\nhost: x\r\nauthorization: Bearer ${fixture.tokens.auditor}\r\naccept-encoding: gzip\r\n\r\n`,
      ),
    );
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('end', () => resolve(Buffer.concat(chunks)));
    socket.on('error', reject);
  });
  const cut = answer.indexOf('\r\n\r\n') + 4;
  expect(answer.subarray(0, cut).toString()).toMatch(/content-encoding: gzip/i);
  expect(proofOf(gunzipSync(answer.subarray(cut)).toString(), 'ndjson')).toMatchObject({
    isWhole: true,
    count: operationCount,
  });
});

test('a CSV file has a column for each field, including nested fields', async () => {
  const [header, row] = (await (await ask('/v1/exports/keys?format=csv&kind=project')).text()).split('\r\n');
  expect(header).toContain('creator_id,creator_name,owner');
  expect(row).toContain('12,project,key 12,acme,acme,quiet-river,ada,Ada,ada');
});

const running = () => fixture.store.sql`
  datname = current_database() and xact_start is not null and query like 'fetch %' and pid <> pg_backend_pid()`;

/** Returns the number of running streams, counted by the open snapshots in the store. */
async function openSnapshots(): Promise<number> {
  const [row] = await fixture.store.sql`
    select count(*)::int as n from pg_stat_activity where ${running()}`;
  return Number(row?.n);
}

async function addMany(): Promise<void> {
  const [project] = await fixture.store.sql`select number from keywarden.project where id = 'bold-moon'`;
  for (let from = 0; from < many; from += 5000) {
    const error = 'x'.repeat(4000);
    const operations = Array.from({ length: 5000 }, (_, index) => makeWireOperation(100_000 + from + index, { error }));
    await saveOperationPage(fixture.daemon.sql, { project: String(project?.number), operations });
  }
}

test('an export stops when its reader disconnects, releases its connection, and is recorded as cut', async () => {
  await addMany();
  const leave = new AbortController();
  const answer = await ask('/v1/exports/operations', {}, leave.signal);
  await answer.body?.getReader().read();
  expect(await openSnapshots()).toBe(1);
  leave.abort();
  await until(async () => (await openSnapshots()) === 0);
  await until(
    async () => (await fixture.store.sql`select 1 from keywarden.access_log where stream = 'cut'`).length === 1,
  );
});

test('P3: a failed export is visibly cut: its connection breaks, it has no last line, and nothing is printed beside the log', async () => {
  const print = vi.spyOn(console, 'error').mockReturnValue();
  const answer = await ask('/v1/exports/operations');
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader?.read())?.value ?? '';
  await fixture.store.sql`
    select pg_terminate_backend(pid) from pg_stat_activity where ${running()}`;
  const rest = async () => {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) text += part.value;
  };
  await expect(rest()).rejects.toThrow(/terminated/);
  expect(text).not.toContain('trailer');
  expect(print.mock.calls).toEqual([]);
  print.mockRestore();
  await until(
    async () => (await fixture.store.sql`select 1 from keywarden.access_log where stream = 'cut'`).length === 2,
  );
});

test('concurrent exports are limited in total and per token; a further one gets a 429, and lists still work', async () => {
  const leave = new AbortController();
  const as = (token: string) => ({ authorization: `Bearer ${fixture.tokens[token]}` });
  const start = async (token: string) => await ask('/v1/exports/operations', as(token), leave.signal);
  const running = [await start('auditor'), await start('auditor')];
  expect((await ask('/v1/exports/operations', as('auditor'))).status).toBe(429);
  running.push(await start('operator'), await start('operator'));
  expect(running.map(({ status }) => status)).toEqual(Array.from({ length: mostStreams }, () => 200));
  const refused = await ask('/v1/exports/operations', as('second operator'));
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  expect((await ask('/v1/keys')).status).toBe(200);
  leave.abort();
  await until(async () => (await openSnapshots()) === 0);
  expect((await (await ask('/v1/exports/keys')).text()).length).toBeGreaterThan(0);
});

const isStillLive = async () => await Promise.resolve(true);

/** Serves one export with these limits. Returns its answer, and what is recorded of it. */
async function serve(
  write: Parameters<ReturnType<typeof createStreams>['answer']>[1]['write'],
  limits: Partial<Parameters<typeof createStreams>[0]>,
) {
  const { sql } = await fixture.store.as('keywarden_report');
  const log = createLogger('test', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' });
  const recorded: (string | null)[] = [];
  const accessLog = { record: async ({ stream }: { stream: string | null }) => void recorded.push(stream) };
  const streams = createStreams({ sql, log, accessLog, isStillLive, ...limits });
  const app = new Hono<Env>();
  app.get('/', async (c) => {
    c.set('principal', { token: '1', name: 'x', role: 'auditor', organizations: null, session: null, credential: '' });
    return await streams.answer(c, { fileName: 'x', contentType: 'text/plain', write });
  });
  return { answer: await app.request('/'), recorded };
}

const end = { last: Buffer.from('end'), records: 0, sha256: '' };

test('a stalled reader is cut off, and its connection is released', async () => {
  const write = async function* (snapshot: Snapshot) {
    for await (const items of snapshot.stream(operationList({}, null))) yield Buffer.from(items.join('\n'));
    return end;
  };
  const { answer } = await serve(write, { stallMs: 30 });
  await until(async () => (await openSnapshots()) === 0);
  await expect(answer.text()).rejects.toThrow('the reader stalled');
});

test('an export that takes too long is cut off, even if its reader always reads', async () => {
  const write = async function* () {
    for (;;) yield await Promise.resolve(Buffer.from('more'));
  };
  const { answer, recorded } = await serve(write, { deadlineMs: 50 });
  await expect(answer.text()).rejects.toThrow('the export took too long');
  await until(async () => (await openSnapshots()) === 0);
  expect(recorded).toEqual(['begun', 'cut']);
});

test('P3: an export that goes on stops soon after its token has ended, not only at its end', async () => {
  let checks = 0;
  const endsAtThird = async () => await Promise.resolve((checks += 1) < 3);
  const write = async function* () {
    for (let count = 0; count < 10; count += 1) yield await Promise.resolve(Buffer.from('more'));
    return end;
  };
  const { answer, recorded } = await serve(write, { isStillLive: endsAtThird, recheckMs: 0 });
  await expect(answer.text()).rejects.toThrow('The token or session has ended');
  await until(async () => (await openSnapshots()) === 0);
  expect(recorded).toEqual(['begun', 'cut']);
});

test('an export ends with its token or session: what is revoked meanwhile gets no complete file', async () => {
  const number = await fixture.makeToken('leaver', 'auditor');
  const cookie = `keywarden_session=${await fixture.signIn('leaver')}`;
  const start = async (headers: Record<string, string>) => {
    const { body } = await fixture.app.request('/v1/exports/operations', { headers });
    const reader = body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    return async () => {
      while (!(await reader?.read())?.done);
    };
  };
  const rests = [await start({ authorization: `Bearer ${fixture.tokens.leaver}` }), await start({ cookie })];
  await fixture.store.sql`update keywarden.report_token set revoked_at = now() where number = ${number}`;
  for (const rest of rests) await expect(rest()).rejects.toThrow('The token or session has ended');
  await until(async () => (await openSnapshots()) === 0);
  const rows = await fixture.store.sql`
    select stream from keywarden.access_log where token_number = ${number} and stream is not null order by number`;
  expect(rows.map(({ stream }) => String(stream))).toEqual(['begun', 'begun', 'cut', 'cut']);
});

test('an export whose start cannot be recorded does not start, and later exports work', async () => {
  await fixture.store.sql`revoke execute on function keywarden.record_accesses from keywarden_report`;
  const statuses = [];
  for (let index = 0; index <= mostStreams; index += 1) statuses.push((await ask('/v1/exports/operations')).status);
  await fixture.store.sql`grant execute on function keywarden.record_accesses to keywarden_report`;
  expect(new Set(statuses)).toEqual(new Set([500]));
  expect(await openSnapshots()).toBe(0);
  expect((await (await ask('/v1/exports/keys')).text()).length).toBeGreaterThan(0);
});

test('P3: an export whose end cannot be recorded has no last line', async () => {
  const headers = { authorization: `Bearer ${fixture.tokens.auditor}` };
  const { body } = await fixture.app.request('/v1/exports/keys?format=json', { headers });
  const reader = body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('{"items":[\n');
  await fixture.store.sql`revoke execute on function keywarden.record_accesses from keywarden_report`;
  const rest: Uint8Array[] = [];
  const read = async () => {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) rest.push(part.value);
  };
  await expect(read()).rejects.toThrow(/an export was cut/);
  await fixture.store.sql`grant execute on function keywarden.record_accesses to keywarden_report`;
  expect(Buffer.concat(rest).toString()).not.toContain('trailer');
});

test('an export without rows whose end cannot be recorded is answered with the status of the reason', async () => {
  fixture.store.isTampered();
  await fixture.store.sql`
    create function keywarden.fail() returns trigger language plpgsql as $$ begin raise exception 'x' using errcode = '57014'; end $$`;
  await fixture.store.sql`
    create trigger fail before insert on keywarden.access_log for each row when (new.stream = 'complete') execute function keywarden.fail()`;
  const { status } = await ask(
    '/v1/exports/operations?project_id=quiet-river&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z',
  );
  await fixture.store.sql`drop function keywarden.fail cascade`;
  expect(status).toBe(503);
});

test('a HEAD request starts no export', async () => {
  const headers = { authorization: `Bearer ${fixture.tokens.auditor}` };
  expect((await fetch(`${server.url}/v1/exports/operations`, { method: 'HEAD', headers })).status).toBe(200);
  expect(await openSnapshots()).toBe(0);
});

test('P1: an export that cannot begin is recorded once, with the status of its answer', async () => {
  const before = await fixture.store.sql`select coalesce(max(number), 0) as number from keywarden.access_log`;
  const answer = await fixture.ask('/v1/exports/reviews?review=999', { as: 'auditor' });
  expect(answer.status).toBe(404);
  const rows = await fixture.store.sql`
    select status, stream from keywarden.access_log where number > ${String(before[0]?.number)}`;
  expect(rows).toEqual([{ status: 404, stream: null }]);
});
