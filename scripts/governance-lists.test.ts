import { makeToken } from '@keywarden/testkit/store/principal';
import { expect, test } from 'vitest';
import { advance, idOf, keywarden, mint, organization, store, useGovernance } from './governance-fixture.ts';

// Parts of plans, and lists of keys and owners, as a person types them.

useGovernance();

test('a part of the plan is a plan of its own, and applies without the rest', async () => {
  const whole = JSON.parse((await keywarden('plan', '--json')).stdout) as {
    plan_id: string;
    sha256: string;
    items: { key: { number: string; id: string } }[];
  };
  const [first] = whole.items;
  const part = await keywarden('plan', '--key', first?.key.number ?? '', '--organization', organization, '--json');
  const { plan_id: id, sha256, items } = JSON.parse(part.stdout) as typeof whole;
  expect(id).not.toBe(whole.plan_id);
  const [row] = await store.sql`select sha256 from keywarden.plan where id = ${id}`;
  expect(sha256).toBe(row?.sha256);
  expect(items).toEqual([first]);
  expect((await keywarden('plan', '--rule', 'never-used')).stdout).toContain(whole.plan_id);
  for (const [option, value, says] of [
    ['--organization', 'nosuch', /There is no organization nosuch in the store; it has \w/],
    ['--rule', 'nosuch', /The policy has no rule nosuch; it has .*never-used/],
    ['--review', '7', /Plan p-\w+ would revoke no key that matches; run keywarden plan without options/],
  ] as const)
    expect(await keywarden('plan', option, value)).toMatchObject({ code: 2, stderr: expect.stringMatching(says) });
  const byId = await keywarden('plan', '--key', first?.key.id ?? '', '--organization', organization, '--json');
  expect(JSON.parse(byId.stdout)).toMatchObject({ plan_id: id });
  expect(await keywarden('plan', '--key', first?.key.id ?? '', 'x')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Plan p-\w+ would not revoke a key x; run keywarden plan/),
  });
  expect((await keywarden('apply', id)).stderr).toContain(`add --yes to approve plan ${id} without one`);
  expect((await keywarden('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('keys and owners are listed as a table, JSON and CSV; one key is shown with its changes', async () => {
  const table = await keywarden('keys', 'list', '--idle-for', '30d');
  expect(table.stdout).toMatch(/KEY +KIND +NAME +ORGANIZATION +OWNER +STATE +LAST USED\n/);
  expect(table.stdout).toMatch(/ci-one .* active +never/);
  expect(table.stdout).not.toContain('busy');
  const items = JSON.parse((await keywarden('keys', 'list', '-o', 'json')).stdout) as { name: string; use: string }[];
  expect(items.find(({ name }) => name === 'busy')?.use).toBe('used');
  const csv = (await keywarden('keys', 'list', '--organization', organization, '-o', 'csv')).stdout;
  expect(csv.split('\n')[0]).toBe('key,kind,name,organization,owner,state,last used');
  const shown = await keywarden('keys', 'show', idOf('busy'));
  expect(shown.stdout).toMatch(/^key +\d+ "busy"\n/);
  expect(shown.stdout).toMatch(/first seen\n/);
  expect((await keywarden('owner', 'list')).stdout).toMatch(/OWNER +KEYS +ORGANIZATIONS\n/);
  for (const [words, says] of [
    [['keys', 'list', '-o', 'xml'], /There is no output xml; use one of table, json, csv\./],
    [['keys', 'list', '--state', 'odd'], /There is no state odd; use one of active, missing, gone\./],
    [['keys', 'list', '--organization', 'nosuch'], /There is no organization nosuch in the store; it has \S+\.\n$/],
    [
      ['token', 'create', '--name', 'x', '--role', 'viewer', '--organization', 'nosuch'],
      /There is no organization nosuch/,
    ],
    [['exempt', '--kind', 'robot', '--reason', 'x', '--until', '10d'], /There is no kind robot; use one of personal, /],
  ] as const)
    expect(await keywarden(...words)).toMatchObject({ code: 2, stderr: expect.stringMatching(says) });
});

test('a key of the plan whose id is the number of another one is chosen by its scope and id', async () => {
  for (let number = 0; number < 8; number += 1) await mint(`more-${number}`);
  await advance(40);
  await keywarden('sync', 'keys');
  const keysOf = async (...words: string[]) => {
    const { stdout } = await keywarden('plan', ...words, '--json');
    return (JSON.parse(stdout) as { items: { key: { number: string; id: string; scope: string } }[] }).items;
  };
  const items = await keysOf();
  const both = items.find(({ key }) => items.some((other) => other.key.number === key.id && other.key.id !== key.id));
  const { id = '', scope = '' } = both?.key ?? {};
  expect(await keywarden('plan', '--key', id)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`specify one of ${scope}/`),
  });
  expect(await keysOf('--key', `${scope}/${id}`)).toEqual([both]);
});

test('keys show has the newest ten uses as text, and says that there are more; as JSON it has all', async () => {
  await store.sql`
    INSERT INTO keywarden.key_use (key_number, hour, address, last_used_at, first_used_at)
    SELECT number, hour, '203.0.113.7', hour, hour
    FROM keywarden.key, generate_series('2026-01-01', '2026-01-01T10:00Z', interval '1 hour') hour WHERE id = ${idOf('tmp')}`;
  const { stdout } = await keywarden('keys', 'show', idOf('tmp'));
  expect(stdout.match(/203\.0\.113\.7/g)).toHaveLength(10);
  expect(stdout).toContain('203.0.113.7\nOnly the newest 10 are shown; --json has all.\n');
  const shown = JSON.parse((await keywarden('keys', 'show', idOf('tmp'), '--json')).stdout) as { uses: unknown[] };
  expect(shown.uses).toHaveLength(11);
});

test('keys show names the report for a credential that is not an API key', async () => {
  expect((await keywarden('sync', 'credentials')).code).toBe(0);
  const [other] = await store.sql`
    SELECT id FROM keywarden.credential WHERE kind NOT IN ('personal', 'organization', 'project') LIMIT 1`;
  expect(await keywarden('keys', 'show', String(other?.id))).toMatchObject({
    code: 2,
    stderr: `Key ${String(other?.id)} is not an API key; the report shows other credentials.\n`,
  });
});

test('lists of incidents, sessions and rejected rows have all of them, also more than a thousand', async () => {
  await keywarden('sync', 'keys');
  await store.sql`
    INSERT INTO keywarden.incident (kind, scope, detail)
    SELECT 'job_failed', 'job keys ' || each, '{}' FROM generate_series(1, 1001) each`;
  const { number } = await makeToken(store, 'ada', 'viewer');
  await store.sql`
    INSERT INTO keywarden.report_session (session_hash, token_number, expires_at, address, agent)
    SELECT each::text, ${number}::bigint, now() + interval '1 hour', '127.0.0.1', '' FROM generate_series(1, 1001) each`;
  await store.sql`
    INSERT INTO keywarden.rejected_row (control_plane_number, list, place, why, record, row_key)
    SELECT number, 'keys', 'organization:acme', 'it has no id', '{}', each
    FROM (SELECT min(number) AS number FROM keywarden.control_plane) c, generate_series(1, 1001) each`;
  for (const list of ['incidents', 'session list', 'coverage --rejected']) {
    const { stdout } = await keywarden(...list.split(' '), '--output', 'csv');
    expect([list, stdout.trim().split('\n').length]).toEqual([list, 1 + 1001]);
  }
});
