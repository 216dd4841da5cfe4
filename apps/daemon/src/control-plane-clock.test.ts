import { connectionOf, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { exemptCommand } from './commands/exemptions.ts';
import { datedAt, whyStale, whyStoreApart } from './control-plane-clock.ts';
import { syncKeys } from './sync/keys.ts';
import { syncOperations } from './sync/operations.ts';

test('R1: a response whose Date is over five minutes before its request, or ahead of the control plane’s clock, is refused; a list may take longer', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const fixture = await makeFixture(store);
  const nowMs = Date.UTC(2026, 5, 1);
  // The control plane's clock is a minute ahead of the local one.
  const clock = { skewMs: 60_000, isSandbox: false, time: { ...connectionOf(fixture).time, now: () => nowMs } };
  const connection = { ...connectionOf(fixture), ...clock };
  const dated = (seconds: number | null, tookSeconds = 0) =>
    datedAt(connection, {
      dateMs: seconds === null ? null : nowMs + clock.skewMs + seconds * 1000,
      begunMs: nowMs - tookSeconds * 1000,
    });
  for (const seconds of [-300, 0, 300])
    expect(dated(seconds)).toBe(new Date(nowMs + 60_000 + seconds * 1000).toISOString());
  for (const seconds of [-301, 301, null]) expect(() => dated(seconds)).toThrow(/Nothing of it is stored/);
  // The list of each of many branches: the oldest response dates them all.
  expect(dated(-900, 600)).toBe(new Date(nowMs - 840_000).toISOString());
  expect(() => dated(-901, 600)).toThrow(/Nothing of it is stored/);
  await fixture.close();
  await store.close();
});

test('A6, A7: a response without a Date, or with one in the future, is suspect', () => {
  const clock = {
    skewMs: 60_000,
    isSandbox: false,
    lastDates: new Map(),
    time: { now: () => 0, sleep: async () => {} },
  };
  const why = (dateMs: number | null) => whyStale(clock, { dateMs, ageMs: 0, begunMs: 0 });
  for (const dateMs of [30_000, 60_000, 360_000]) expect(why(dateMs)).toBeNull();
  expect([29_999, 360_001, null].map(why)).toEqual([
    expect.stringMatching(/in the past/),
    expect.stringMatching(/in the future/),
    expect.stringMatching(/no Date/),
  ]);
});

test('R7, R1: pages of one project without a Date stop no other project, and members listed without one prove nothing', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  let dateless = '/members';
  const undated: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    if (!new URL(input instanceof Request ? input.url : input).pathname.endsWith(dateless)) return answer;
    const headers = new Headers(answer.headers);
    headers.delete('date');
    return new Response(answer.body, { status: answer.status, headers });
  };
  const fixture = await makeFixture(store, { client: { fetch: undated } });
  await fixture.controls.generate({ organizations: 1, projects: 8, keys: 2, operations: 100, months: 1 });
  await syncKeys(fixture.context, connectionOf(fixture));
  expect(await store.sql`select from keywarden.member_listing`).toEqual([]);
  const projects = await fixture.controls.projects();
  dateless = `/projects/${projects[0]?.id}/operations`;
  await expect(syncOperations(fixture.context, connectionOf(fixture))).rejects.toThrow(/of 1 of 8 projects .*no Date/);
  const walked = await store.sql`select from keywarden.project where walked_at is not null`;
  expect(walked.length).toBe(7);
  await fixture.close();
  await store.close();
});

test('no exemption is granted by a clock that is minutes off: it would end early, or have a time of the future', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const fixture = await makeFixture(store);
  await fixture.reconnect();
  await syncKeys(fixture.context, connectionOf(fixture));
  let offMs = 0;
  const dated: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const headers = new Headers(answer.headers);
    headers.delete('server'); // as of another control plane than the sandbox, whose time is moved on purpose
    headers.set('date', new Date(Date.now() + offMs).toUTCString());
    return new Response(answer.body, { status: answer.status, headers });
  };
  const exempt = async () =>
    await exemptCommand.run?.(
      { ...fixture.context, fetch: dated } as never,
      ['1'] as never,
      { reason: 'kept', until: '30d' } as never,
    );
  for (const [hours, how] of [
    [-24, 'behind'],
    [8760, 'ahead of'],
  ] as const) {
    offMs = hours * 3_600_000;
    await expect(exempt()).rejects.toThrow(
      new RegExp(
        `^Nothing is stored through connection main, because the control plane's clock is \\d+ s ${how} this machine's; `,
      ),
    );
  }
  expect(await store.sql`select from keywarden.exemption`).toEqual([]);
  offMs = 0;
  expect(await exempt()).toMatchObject({ json: { exemption: expect.anything() } });
  await fixture.close();
  await store.close();
});

test("a database's clock that is off is named, in either direction", async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const fixture = await makeFixture(store);
  const at = async (seconds: number) =>
    await whyStoreApart({ ...fixture.context, now: () => Date.now() - seconds * 1000 });
  expect(await at(0)).toBeNull();
  expect(await at(86_400)).toMatch(/^the database's clock is 86\d{3} s ahead of this machine's$/);
  expect(await at(-86_400)).toMatch(/^the database's clock is 86\d{3} s behind this machine's$/);
  await fixture.close();
  await store.close();
});
