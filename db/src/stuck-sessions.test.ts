import { connect, Socket } from 'node:net';
import { until } from '@keywarden/testkit';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import postgres from 'postgres';
import { expect, inject, test } from 'vitest';
import { endStuckSessions } from './silence.ts';

/** Opens a socket that sends nothing after the message with this text, as the socket of a process that is suspended then. */
function openSuspended(url: string, text: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let isSuspended = false;
  return Object.assign(socket, {
    write(bytes: Uint8Array) {
      if (isSuspended) return true;
      isSuspended = Buffer.from(bytes).includes(text);
      return Socket.prototype.write.call(socket, bytes);
    },
  });
}

test('a session whose process is suspended within a statement ends, and its transaction locks nothing any more', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const daemon = await store.as('keywarden_daemon');
  const options = { max: 1, connection: { application_name: 'suspended' } };
  // The driver takes a socket, which its types lack.
  const sql = postgres(store.url, { ...options, socket: () => openSuspended(store.url, 'the rest') } as typeof options);
  const working = sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(1)`;
    await tx`select 'the rest', ${1}::int`;
  });
  const ended = working.catch((error: unknown) => error);
  await until(async () => {
    const rows = await store.sql`
      select from pg_stat_activity where application_name = 'suspended' and state = 'active' and wait_event = 'ClientRead'`;
    return rows.length === 1;
  });
  expect(await endStuckSessions(daemon.sql)).toBe(0);
  const waiting = daemon.sql`select pg_advisory_lock(1)`;
  await store.untilBlocked(waiting);
  expect(await endStuckSessions(daemon.sql, 0)).toBe(1);
  await waiting;
  expect(await ended).toBeInstanceOf(Error);
  await sql.end({ timeout: 0 });
  await store.close();
});
