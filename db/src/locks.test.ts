import { aborted } from '@keywarden/runtime';
import { makeControlPlane, makeProject, makeWireKey, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeOperationPartitions, saveKeyListing, saveOperationPage } from './daemon.ts';
import { createLocks, holdFence, type Lease } from './locks.ts';

let store: TestStore;
let other: Awaited<ReturnType<TestStore['as']>>;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  other = await store.as('keywarden_daemon');
});
afterAll(async () => await store.close());

const never = new AbortController().signal;

/** Returns work that continues until the test ends it. */
function untilEnded() {
  const ended = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<Lease>();
  return {
    begun: begun.promise,
    end: ended.resolve,
    work: async (lease: Lease) => {
      begun.resolve(lease);
      await ended.promise;
    },
  };
}

/** Ends the session that holds a lock, as a failover does. */
async function endSessionOf(name: string): Promise<void> {
  await store.sql`
    select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())
      and (classid::bigint << 32 | objid::bigint) = hashtextextended(${name}, 0)`;
}

test.each(['of one process', 'of two'])(
  'one %s works at a time, and a waiting caller is notified and can be stopped',
  async (which) => {
    const second = which === 'of two' ? other.locks : store.locks;
    const stop = new AbortController();
    const order: string[] = [];
    const { begun, end, work } = untilEnded();
    const first = store.locks.hold('a', { signal: never }, work).then(() => void order.push('first'));
    await begun;
    const impatient = second.hold('a', { signal: stop.signal, onWait: () => stop.abort() }, async () => {
      order.push('impatient');
    });
    await expect(impatient).rejects.toThrow(/abort/i);
    const patient = second.hold('a', { signal: never, onWait: () => end() }, async () => {
      order.push('second');
    });
    await Promise.all([first, patient]);
    expect(order).toEqual(['first', 'second']);
  },
);

test('a lock that is released while its session is lost is not released for the next holder of the process', async () => {
  // Holds the answer to the first release back.
  const released = Promise.withResolvers<void>();
  const releasing = Promise.withResolvers<void>();
  let isFirst = true;
  const locks = createLocks((options) => {
    const sql = store.connect(options);
    return new Proxy(sql, {
      apply(target, self, words: [TemplateStringsArray]) {
        const answer = Reflect.apply(target, self, words) as Promise<unknown>;
        if (!isFirst || !words[0][0]?.startsWith('select pg_advisory_unlock(')) return answer;
        isFirst = false;
        releasing.resolve();
        return answer.then(() => released.promise);
      },
    });
  });
  const besides = untilEnded();
  const holdingBesides = locks.hold('held besides', { signal: never }, besides.work);
  const { signal } = await besides.begun;
  const first = locks.hold('released late', { signal: never }, async () => undefined);
  await releasing.promise;
  await endSessionOf('held besides');
  await aborted(signal);
  const { begun, end, work } = untilEnded();
  const second = locks.hold('released late', { signal: never }, work);
  await begun;
  released.resolve();
  await first;
  const stop = new AbortController();
  const third = locks.hold('released late', { signal: stop.signal, onWait: () => stop.abort() }, async () => undefined);
  await expect(third).rejects.toThrow(/abort/i);
  end();
  besides.end();
  await Promise.all([second, holdingBesides]);
});

test('holders of a shared lock work concurrently, in one process and in two, and an exclusive holder waits for all of them', async () => {
  const sharing = [untilEnded(), untilEnded(), untilEnded()];
  const options = { signal: never, isShared: true };
  const shared = sharing.map(({ work }, index) => (index < 2 ? store : other).locks.hold('b', options, work));
  await Promise.all(sharing.map(({ begun }) => begun));
  let isAlone = false;
  const alone = other.locks.hold('b', { signal: never }, async () => {
    isAlone = true;
  });
  sharing[0]?.end();
  await shared[0];
  expect(isAlone).toBe(false);
  for (const { end } of sharing) end();
  await Promise.all([...shared, alone]);
  expect(isAlone).toBe(true);
});

test('of two that ask for a shared lock at once, neither works while another process holds it alone', async () => {
  const { begun, end, work } = untilEnded();
  const alone = other.locks.hold('h', { signal: never }, work);
  await begun;
  const order: string[] = [];
  const shared = [1, 2].map(() => {
    const waits = Promise.withResolvers<void>();
    const options = { signal: never, isShared: true, onWait: waits.resolve };
    const done = store.locks.hold('h', options, async () => void order.push('works'));
    return { done, first: Promise.race([waits.promise, done]) };
  });
  await Promise.all(shared.map(({ first }) => first));
  expect(order).toEqual([]);
  end();
  await Promise.all([alone, ...shared.map(({ done }) => done)]);
});

test('a write is refused, too, once another process holds the lock within which its own lock was taken', async () => {
  const { begun, end, work } = untilEnded();
  const first = store.locks.hold('i', { signal: never }, work);
  const outer = await begun;
  await store.locks.hold('j', { signal: never }, async (lease) => {
    await holdFence(store.sql, { ...lease, outer });
    await endSessionOf('i');
    await aborted(lease.signal);
    await other.locks.hold('i', { signal: never }, async () => undefined);
    await holdFence(store.sql, lease);
    await expect(holdFence(store.sql, { ...lease, outer })).rejects.toMatchObject({ code: 'KW005' });
  });
  end();
  await first;
});

test('a holder is notified when it loses its lock, and its writes are refused once another process holds the lock', async () => {
  const controlPlane = await makeControlPlane(store.sql);
  const project = await makeProject(store.sql, controlPlane);
  await makeOperationPartitions(store.sql, ['2026-05']);
  const { begun, end, work } = untilEnded();
  const first = store.locks.hold('c', { signal: never }, work);
  const lost = await begun;
  const page = { project, operations: [makeWireOperation(1)] };
  expect(await saveOperationPage(store.sql, { ...page, lease: lost })).toEqual({ inserted: 1, changed: 0 });
  const written = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const order: string[] = [];
  const writing = store.sql.begin(async (tx) => {
    await holdFence(tx, lost);
    written.resolve();
    await release.promise;
    order.push('a write that has begun');
  });
  await written.promise;
  await endSessionOf('c');
  await aborted(lost.signal);
  const next = other.locks.hold('c', { signal: never }, async (lease) => {
    order.push('the next holder');
    const late = saveOperationPage(store.sql, { project, operations: [makeWireOperation(2)], lease: lost });
    await expect(late).rejects.toMatchObject({ code: 'KW005' });
    await saveOperationPage(other.sql, { project, operations: [makeWireOperation(3)], lease });
  });
  await store.untilBlocked(next).finally(release.resolve);
  await Promise.all([writing, next]);
  expect(order).toEqual(['a write that has begun', 'the next holder']);
  end();
  await first;
  const stored = await store.sql`select id from keywarden.operation order by id`;
  expect(stored.map(({ id }) => id)).toEqual([makeWireOperation(1).id, makeWireOperation(3).id]);
  await store.locks.hold('c', { signal: never }, async () => undefined);
});

test('the server gives the lock of a hanging process to another one', async () => {
  const hanging = createLocks(({ settings }) => store.connect({ max: 1, settings: { ...settings } }), { idleMs: 300 });
  // Its heartbeat comes too late: the process hangs.
  const { begun, end, work } = untilEnded();
  const first = hanging.hold('d', { signal: never }, work);
  await begun;
  const hung = Date.now() + 1500;
  while (Date.now() < hung); // this process does nothing meanwhile
  expect(await other.locks.hold('d', { signal: never }, async () => 'taken')).toBe('taken');
  end();
  await first;
});

test('a session that was given up and closes late takes nothing from its successor', async () => {
  const closes: (() => void)[] = [];
  const idleMs = 300;
  const locks = createLocks(
    ({ onclose, settings }) => {
      closes.push(() => onclose?.());
      return store.connect({ max: 1, settings: { ...settings, idle_session_timeout: 0 } });
    },
    { idleMs },
  );
  const first = untilEnded();
  const second = untilEnded();
  const ended = locks.hold('e', { signal: never }, first.work);
  const lost = await first.begun;
  const [holder] = await store.sql<
    { pid: number }[]
  >`select pid from pg_locks where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32 | objid::bigint) = hashtextextended('e', 0)`;
  // The server sends nothing more, and the connection stays open.
  process.kill(Number(holder?.pid), 'SIGSTOP');
  try {
    await aborted(lost.signal);
    const after = locks.hold('f', { signal: never }, second.work);
    const lease = await second.begun;
    closes[0]?.();
    expect(closes.length).toBe(2);
    expect(lease.signal.aborted).toBe(false);
    const refused = new AbortController();
    const asking = { signal: refused.signal, onWait: () => refused.abort() };
    const waiting = other.locks.hold('f', asking, async () => 'taken');
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    for (const { end } of [first, second]) end();
    await Promise.all([ended, after]);
  } finally {
    process.kill(Number(holder?.pid), 'SIGCONT');
  }
  expect(await other.locks.hold('f', { signal: never }, async () => 'taken')).toBe('taken');
});

test('a lock whose statement failed after the server had granted it is free', async () => {
  await store.sql`alter table keywarden.work_fence add constraint refused check (name <> 'g')`;
  await expect(store.locks.hold('g', { signal: never }, async () => undefined)).rejects.toMatchObject({
    code: '23514',
  });
  await store.sql`alter table keywarden.work_fence drop constraint refused`;
  const refused = new AbortController();
  const asking = { signal: refused.signal, onWait: () => refused.abort() };
  expect(await other.locks.hold('g', asking, async () => 'taken')).toBe('taken');
});

test('A7: of two listings of a scope that are saved at once, an earlier one is not stored after a later one', async () => {
  const controlPlane = await makeControlPlane(store.sql);
  const place = { controlPlane, scope: 'organization:acme', organizationId: 'acme', connection: 'main', run: null };
  const save = async ({ sql }: Pick<TestStore, 'sql'>, at: string) =>
    await saveKeyListing(sql, { ...place, listedAt: at, begunAt: at, keys: [makeWireKey('1')] });
  const saves: ReturnType<typeof save>[] = [];
  await store.sql.begin(async (tx) => {
    // Each has looked for a later listing, and is about to store its own.
    await tx`lock table keywarden.key_listing in share mode`;
    saves.push(save(store, '2026-06-01T02:00:00Z'));
    await store.untilBlocked(...saves);
    saves.push(save(other, '2026-06-01T01:00:00Z'));
    await store.untilBlocked(...saves);
  });
  expect((await Promise.all(saves)).map(({ number }) => number === null)).toEqual([false, true]);
});
