import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { jobSchema } from './queues.ts';
import { readQueues } from './state.ts';

test('the oldest job that waits is as old as the time since it could have started, and absent if none waits', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const add = async (name: string, state: string, startAfter: string) => {
    const job = store.sql(`${jobSchema}.job`);
    await store.sql`
      insert into ${job} (name, state, start_after) values (${name}, ${state}::${store.sql.unsafe(`${jobSchema}.job_state`)}, now() + ${startAfter}::interval)`;
  };
  const queues = await store.sql`select name from ${store.sql(`${jobSchema}.queue`)} order by name limit 3`;
  const [running = '', waiting = '', later = ''] = queues.map(({ name }) => String(name));
  await add(running, 'active', '0 s');
  await add(waiting, 'created', '-1 hour');
  await add(later, 'created', '1 hour');
  const ages = new Map((await readQueues(store.sql)).map(({ kind, oldestSeconds }) => [kind, oldestSeconds]));
  expect([ages.get(running), ages.get(later)]).toEqual([null, 0]);
  expect(ages.get(waiting)).toBeGreaterThanOrEqual(3600);
  await store.close();
});
