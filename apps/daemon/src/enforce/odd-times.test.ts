import {
  apply,
  makeStoredPlan,
  outcomes,
  revokedNames,
  store,
  use,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { changed, isKeyList, plain, prepareBetween, setBetween } from '@keywarden/testkit/daemon/between-fixture';
import { expect, test } from 'vitest';

// Records whose times are impossible, and lists that are older than the one before.

useApplyFixture();

test('R1: a key with an impossible creation time is not judged by its age until a later list corrects it', async () => {
  await prepareBetween(['one', 'busy']);
  for (const createdAt of ['0001-01-01T00:00:00Z', '2999-01-01T00:00:00Z', '2001-01-01T00:00:00Z']) {
    await store.sql`truncate keywarden.credential, keywarden.key_listing, keywarden.incident cascade`;
    setBetween(async (request, forward) =>
      isKeyList(request)
        ? await changed(forward, (rows) => rows.map((row) => ({ ...row, created_at: createdAt })))
        : await forward(),
    );
    const { document } = await makeStoredPlan();
    expect(document.items).toEqual([]);
    expect(document.held.map(({ key, why }) => [key.name, why.kind])).toContainEqual(['one', 'unknown']);
  }
  setBetween(plain);
  await store.sql`truncate keywarden.credential, keywarden.key_listing, keywarden.incident cascade`;
  setBetween(async (request, forward) =>
    isKeyList(request)
      ? await changed(forward, (rows) => rows.map((row) => ({ ...row, created_at: '0001-01-01T00:00:00Z' })))
      : await forward(),
  );
  await makeStoredPlan();
  setBetween(plain);
  expect((await makeStoredPlan()).document.items.map(({ key }) => key.name)).toEqual(['one']);
});

test('R1: a last use in the future is unknown until a later list corrects it, and hides no later use', async () => {
  const { busy } = await prepareBetween(['one', 'busy']);
  for (const from of ['', '203.0.113.7']) {
    setBetween(async (request, forward) =>
      isKeyList(request)
        ? await changed(forward, (rows) =>
            rows.map((row) => ({ ...row, last_used_at: '9999-12-31T23:59:59Z', last_used_from_addr: from })),
          )
        : await forward(),
    );
    const { document } = await makeStoredPlan();
    expect(document.items).toEqual([]);
    expect(document.held.map(({ key, why }) => [key.name, why.kind])).toContainEqual(['one', 'unknown']);
  }
  setBetween(plain);
  await use(busy?.key ?? '');
  expect((await makeStoredPlan()).document.items.map(({ key }) => key.name)).toEqual(['one']);
  const uses = await store.sql`
    select k.name from keywarden.key_use u join keywarden.key k on k.number = u.key_number where u.last_used_at < '9999-01-01'`;
  expect(uses.map(({ name }) => name)).toContain('busy');
});

test('R1: no key is revoked on a list that is older than the last one', async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  const [last] = await store.sql`select max(listed_at) - interval '5 seconds' as at from keywarden.key_listing`;
  setBetween(async (request, forward) => {
    const answer = await forward();
    const date = new Date(String(last?.at)).toUTCString();
    return isKeyList(request) ? new Response(answer.body, { headers: { date } }) : answer;
  });
  expect(outcomes(await apply(plan)).one).toMatch(/^skipped: /);
  expect(await revokedNames()).toEqual([]);
});
