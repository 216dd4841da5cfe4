import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { codeOf } from '@keywarden/runtime';
import { realTime, until } from '@keywarden/testkit';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { connect } from './connect.ts';
import type { Sql } from './sql.ts';

// The driver behavior that we rely on when sessions end. patches/ fixes what the driver does not do, see docs/adr/0013.

let store: TestStore;
let line: Awaited<ReturnType<typeof openLine>>;
let sql: Sql;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  line = await openLine(new URL(store.url));
  await store.sql`create table public.written (number int)`;
});
beforeEach(() => {
  sql = postgres(line.url, { max: 1, connect_timeout: 5, connection: { application_name: 'driver test' } });
  return async () => await sql.end({ timeout: 1 });
});
afterAll(async () => {
  line.close();
  await store.close();
});

/** How long a connection may be silent in these tests, in ms. */
const silenceMs = 200;

/** A slow connection pauses after so many bytes. The system tells a sender of its progress in steps of about a megabyte. */
const pauseBytes = 8_000_000;
const pauseMs = 400;

/** Returns a stream that passes bytes on with pauses. */
function pausing(ms: number): Transform {
  let passed = 0;
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      const pauses = Math.floor(passed / pauseBytes);
      passed += bytes.length;
      const isPause = ms > 0 && Math.floor(passed / pauseBytes) > pauses;
      void (isPause ? realTime(ms, 'a line that is slow') : Promise.resolve()).then(() => done(null, bytes));
    },
  });
}

/** How a message of the server begins that names the process of a session. Source: Postgres's protocol, BackendKeyData. */
const backendKey = Buffer.from('4b0000000c', 'hex');

/**
 * Opens a connection to the server that the test can cut, or that can carry nothing any more. As poolers do, it may rename sessions. A slow
 * one takes what a client sends with pauses.
 */
async function openLine(url: URL, { renames = false, isSlow = false } = {}) {
  const sockets = new Set<Socket>();
  let opened = 0;
  const server = createServer({ allowHalfOpen: true }, (near) => {
    opened += 1;
    const far = dial(Number(url.port), url.hostname);
    far.on('data', (bytes) => {
      const at = bytes.indexOf(backendKey);
      if (renames && at >= 0) bytes.writeInt32BE(1, at + backendKey.length);
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
    near
      .pipe(pausing(isSlow ? pauseMs : 0))
      .pipe(far)
      .pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    opened: () => opened,
    stall: () => sockets.forEach((socket) => socket.unpipe().resume()),
    left: () => [...sockets].filter((socket) => socket.readableEnded && !socket.closed).length,
    cut: () => sockets.forEach((socket) => socket.resetAndDestroy()),
    isClosed: () => [...sockets].every((socket) => socket.closed),
    close: () => {
      sockets.forEach((socket) => socket.destroy());
      server.close();
    },
  };
}

const terminate = async () =>
  void (await store.sql`
    select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'driver test'`);
const losses = { 'the server ends it': terminate, 'the line is cut': () => Promise.resolve(line.cut()) };

/** Causes the loss and waits until the driver has closed its side of the connection too. */
async function lose(how: keyof typeof losses): Promise<void> {
  await losses[how]();
  await until(() => line.isClosed());
}

const cases = Object.keys(losses) as (keyof typeof losses)[];

test.each(cases)(
  'a session lost within a transaction rejects the transaction and all its later statements: %s',
  async (how) => {
    const late = Promise.withResolvers<string>();
    const begun = sql.begin(async (tx) => {
      await tx`insert into public.written values (1)`;
      await lose(how);
      // The pool has another session by now. The statements of this transaction must not reach it.
      await sql`select 1`.catch(() => sql`select 1`);
      await tx`insert into public.written values (2)`.then(
        () => late.resolve('written'),
        () => late.resolve('refused'),
      );
    });
    await expect(begun).rejects.toMatchObject({
      code: expect.stringMatching(/^(CONNECTION_CLOSED|ECONNRESET|57P01)$/),
    });
    expect(await late.promise).toBe('refused');
    expect(await store.sql`select * from public.written`).toEqual([]);
    expect(await sql`select 7 as seven`).toEqual([{ seven: 7 }]);
  },
);

test.each(cases)(
  'a reserved session that was lost is refused, and releasing it has no side effects: %s',
  async (how) => {
    const reserved = await sql.reserve();
    await reserved`select 1`;
    await lose(how);
    await sql`select 1`.catch(() => sql`select 1`);
    await expect(reserved`select 1`.then((rows) => rows)).rejects.toThrow(/CONNECTION_CLOSED|ECONNRESET/);
    reserved.release();
    expect(await sql`select 7 as seven`).toEqual([{ seven: 7 }]);
  },
);

test('queries at any moment of many losses end, each with its own answer or with an error', async () => {
  const pool = postgres(line.url, { max: 4, connect_timeout: 5, connection: { application_name: 'driver test' } });
  const over = new AbortController();
  const wrong: unknown[] = [];
  let answered = 0;
  let lost = 0;
  const workers = Array.from({ length: 8 }, async (_, worker) => {
    for (let asked = worker; !over.signal.aborted; asked += 8) {
      const own = asked;
      await pool`select ${own}::int as own, pg_sleep(0.004)`.then(
        ([row]) => {
          answered += 1;
          if (row?.own !== own) wrong.push({ own, row });
        },
        () => {
          lost += 1;
        },
      );
    }
  });
  for (let round = 0; round < 60; round += 1) {
    const before = answered + lost;
    await until(() => answered + lost > before + 8, { everyMs: 5 });
    if (round % 2 === 0) line.cut();
    else await terminate();
  }
  over.abort();
  await Promise.all(workers);
  await pool.end({ timeout: 1 });
  expect(wrong).toEqual([]);
  expect(answered).toBeGreaterThan(0);
  expect(lost).toBeGreaterThan(0);
});

const openPatient = (url: string, ms = silenceMs) =>
  connect(url, { applicationName: 'driver test', pool: { max: 1 }, silenceMs: ms });

test('a connection that silently carries nothing any more is given up, and the pool continues', async () => {
  const patient = openPatient(line.url);
  await patient`select 1`;
  line.stall();
  await expect(patient`insert into public.written values (3)`).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  expect(await patient`select 7 as seven`).toEqual([{ seven: 7 }]);
  await expect(
    patient.begin(async (tx) => {
      await tx`insert into public.written values (4)`;
      line.stall();
      await tx`select 1`;
    }),
  ).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  expect(await patient`select 7 as seven`).toEqual([{ seven: 7 }]);
  expect(await store.sql`select * from public.written where number in (3, 4)`).toEqual([]);
  await patient.end({ timeout: 1 });
});

test('a session that its pool ends on such a connection does not keep its place in the pool', async () => {
  const idle = postgres(line.url, { max: 1, idle_timeout: 0.05 });
  await idle`select 1`;
  line.stall();
  const before = line.left();
  await until(() => line.left() > before);
  expect(await idle`select 7 as seven`).toEqual([{ seven: 7 }]);
  await idle.end({ timeout: 1 });
});

test('a pool that ends while it waits to open a session again opens none', async () => {
  const openWaiting = async () => {
    const lost = Promise.withResolvers<number>();
    const pool = postgres(line.url, { max: 1, backoff: () => 0.05, onclose: lost.resolve });
    await pool`select 1`;
    line.cut();
    await lost.promise;
    return { pool, answer: pool`select 7 as seven`.then((rows) => rows[0]?.seven, codeOf) };
  };
  const ended = await openWaiting();
  await ended.pool.end({ timeout: 0 });
  expect(await ended.answer).toBe('CONNECTION_DESTROYED');
  const opened = line.opened();
  const later = await openWaiting();
  // The second session of this pool waits as long, and began to wait later.
  expect(await later.answer).toBe(7);
  expect(line.opened()).toBe(opened + 2);
  await later.pool.end({ timeout: 1 });
});

test.each([
  ['directly', false],
  ['behind a pooler that renames sessions', true],
])('a statement that takes long is not given up: %s', async (_, renames) => {
  const other = await openLine(new URL(store.url), { renames });
  const patient = openPatient(other.url);
  const holder = await store.sql.reserve();
  await holder`select pg_advisory_lock(7)`;
  const waiting = patient`select 7 as seven from (select pg_advisory_lock(7)) l`.then((rows) => [...rows]);
  // The first connection is that of the statement. The others asked about it.
  await Promise.race([until(() => other.opened() > 4), waiting]);
  await holder`select pg_advisory_unlock(7)`;
  holder.release();
  expect(await waiting).toEqual([{ seven: 7 }]);
  await patient.end({ timeout: 1 });
  other.close();
});

test('a statement whose text takes long to send is not given up while the line takes more of it', async () => {
  const other = await openLine(new URL(store.url), { isSlow: true });
  const patient = openPatient(other.url, 4 * pauseMs);
  const measure = async (value: string) => await patient`select length(${value}) as bytes`;
  // Once it is prepared, the server learns of the statement only with the end of its values.
  await measure('short');
  const bytes = 40_000_000;
  expect([...(await measure('x'.repeat(bytes)))]).toEqual([{ bytes }]);
  expect(other.opened()).toBe(1);
  await patient.end({ timeout: 1 });
  await realTime(5 * pauseMs, 'the timer of this connection, which must not outlive it');
  other.close();
});

test('a statement fails on a server that closes each connection before its session is ready, and is not sent again without end', async () => {
  let opened = 0;
  const server = createServer((socket) => {
    opened += 1;
    socket.on('error', () => undefined).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on a port
  const sql = connect(`postgres://u@127.0.0.1:${port}/x`, { applicationName: 'test', pool: { max: 2 } });
  for (let time = 0; time < 2; time += 1) {
    await expect(sql`select`).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    await expect(sql.begin(async (tx) => await tx`select`)).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    await expect(sql.reserve()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  }
  expect(opened).toBeLessThan(13);
  await sql.end({ timeout: 1 });
  server.close();
});
