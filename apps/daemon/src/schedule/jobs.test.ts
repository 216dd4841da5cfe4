import type { Logger } from '@keywarden/runtime';
import { UserError } from '@keywarden/runtime';
import { connectionOf, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { tryEachConnection } from './jobs.ts';

test('R7: a connection that fails is logged with its actual error, and the next one is processed', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const fixture = await makeFixture(store);
  const lines: unknown[] = [];
  // Only the one method that is called. Another test covers how the logger formats an error.
  const log = { error: (fields: unknown) => void lines.push(fields) } as unknown as Logger;
  const failing = { ...connectionOf(fixture), name: 'failing' };
  const worked: string[] = [];
  const failure = new UserError('incomplete', 'Fix this.');
  const failed = await tryEachConnection(
    { ...fixture.context, log },
    [failing, connectionOf(fixture)],
    async (_context, { name }) => {
      if (name === 'failing') throw failure;
      worked.push(name);
    },
  );
  expect(failed).toEqual(['failing']);
  expect(worked).toEqual(['main']);
  expect(lines).toEqual([{ connection: 'failing', err: failure }]);
  await fixture.close();
  await store.close();
});
