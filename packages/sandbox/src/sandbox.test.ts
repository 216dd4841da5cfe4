import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createSandbox, noLimits, type Sandbox, type SandboxOptions } from './index.ts';

const opened: Sandbox[] = [];
afterAll(async () => {
  for (const sandbox of opened) await sandbox.close();
});

async function open(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await createSandbox({ limits: noLimits, ...options });
  opened.push(sandbox);
  return sandbox;
}

interface Answer {
  status: number;
  // The tests look into answers of many shapes.
  body: Record<string, never> & Record<string, never>[];
}

async function ask(
  url: string,
  init: { key?: string; method?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: init.method ?? 'GET',
    headers: {
      'content-type': 'application/json',
      ...(init.key ? { authorization: `Bearer ${init.key}` } : {}),
      ...init.headers,
    },
    ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const company = { organizations: 2, projects: 4, keys: 40, operations: 6000, months: 9, seed: 3 };

async function generated(options: SandboxOptions = {}) {
  const sandbox = await open(options);
  const counts = (await ask(`${sandbox.controlUrl}/generate`, { method: 'POST', body: company })).body;
  const as = (path: string, init = {}) => ask(`${sandbox.url}${path}`, { key: sandbox.adminKey, ...init });
  const { organizations } = (await as('/users/me/organizations')).body as unknown as {
    organizations: { id: string }[];
  };
  const organization = organizations[0]?.id ?? '';
  const { projects } = (await as(`/projects?org_id=${organization}&limit=400`)).body as unknown as {
    projects: { id: string }[];
  };
  return { sandbox, counts, as, organization, project: projects[0]?.id ?? '' };
}

test('a company has what was asked for; one seed makes one company; only six months are served', async () => {
  const clock = { realNowMs: () => Date.parse('2026-06-15T12:00:00Z') };
  const [first, second] = [await generated(clock), await generated(clock)];
  expect(first.counts).toMatchObject({ organizations: 2, projects: 4, keys: 40, operations: 6000 });
  expect(Number(first.counts.served_operations)).toBeGreaterThan(3000);
  expect(Number(first.counts.served_operations)).toBeLessThan(6000);
  const operations = async ({ sandbox, project }: typeof first) =>
    (await ask(`${sandbox.controlUrl}/operations?project_id=${project}`)).body;
  expect(await operations(first)).toEqual(await operations(second));
});

test('a company has keys of every kind: busy, idle, never used, badly named, and names that repeat', async () => {
  const { sandbox } = await generated();
  const keys = (await ask(`${sandbox.controlUrl}/keys`)).body as unknown as {
    kind: string;
    name: string;
    last_used_at: string | null;
  }[];
  expect(new Set(keys.map((key) => key.kind))).toEqual(new Set(['personal', 'organization', 'project']));
  expect(keys.some((key) => key.last_used_at === null)).toBe(true);
  expect(keys.some((key) => key.name === 'test' || key.name === 'asdf')).toBe(true);
  expect(new Set(keys.map((key) => key.name)).size).toBeLessThan(keys.length);
});

test('a cursor starts strictly below its time: a page that ends between two equal times loses the rest of them', async () => {
  const { sandbox, as, project } = await generated();
  const truth = (await ask(`${sandbox.controlUrl}/operations?project_id=${project}`)).body as unknown as {
    served: string[];
  };
  const seen: string[] = [];
  let cursor = '';
  for (;;) {
    const page = (await as(`/projects/${project}/operations?limit=3${cursor}`)).body as unknown as {
      operations: { id: string }[];
      pagination?: { cursor: string };
    };
    seen.push(...page.operations.map((each) => each.id));
    if (page.pagination === undefined) break;
    cursor = `&cursor=${encodeURIComponent(page.pagination.cursor)}`;
  }
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.length).toBeLessThan(truth.served.length);
  expect(truth.served).toEqual(expect.arrayContaining(seen));
});

test('operations that are going on move on as the clock goes, and old ones are served no more', async () => {
  const { sandbox, as, project } = await generated();
  const statuses = async () => {
    const { operations } = (await as(`/projects/${project}/operations?limit=1000`)).body as unknown as {
      operations: { status: string }[];
    };
    return operations.filter((each) => each.status === 'running' || each.status === 'scheduling').length;
  };
  expect(await statuses()).toBeGreaterThan(0);
  await ask(`${sandbox.controlUrl}/clock`, { method: 'POST', body: { advance_seconds: 7200 } });
  expect(await statuses()).toBe(0);
  await ask(`${sandbox.controlUrl}/clock`, { method: 'POST', body: { advance_seconds: 200 * 86_400 } });
  const after = (await ask(`${sandbox.controlUrl}/operations?project_id=${project}`)).body as unknown as {
    served: string[];
    pruned: string[];
  };
  expect(after.served).toEqual([]);
  expect(after.pruned.length).toBeGreaterThan(0);
});

test('who may do what with keys', async () => {
  const { sandbox, as, organization, project } = await generated();
  const keysOf = `/organizations/${organization}/api_keys`;
  const mint = async (body: object) =>
    (await as(keysOf, { method: 'POST', body })).body as unknown as { id: number; key: string };
  const organizationKey = await mint({ key_name: 'o' });
  const projectKey = await mint({ key_name: 'p', project_id: project });
  const check = async (key: string, method: string, path: string, body?: unknown) =>
    (await ask(`${sandbox.url}${path}`, { key, method, body })).status;

  expect(await check('napi_wrong', 'GET', '/auth')).toBe(401);
  expect(await check(organizationKey.key, 'GET', '/api_keys')).toBe(404);
  expect(await check(organizationKey.key, 'GET', keysOf)).toBe(200);
  expect(await check(organizationKey.key, 'POST', keysOf, { key_name: 'x' })).toBe(404);
  expect(await check(projectKey.key, 'GET', keysOf)).toBe(404);
  expect(await check(projectKey.key, 'GET', `/projects/${project}`)).toBe(200);
  expect(await check(projectKey.key, 'GET', '/projects/another')).toBe(404);
  expect(await check(sandbox.adminKey, 'GET', '/projects')).toBe(400);
  expect(await check(sandbox.adminKey, 'POST', keysOf, { key_name: '' })).toBe(400);
  expect(await check(sandbox.adminKey, 'GET', '/nowhere')).toBe(404);

  expect(await check(organizationKey.key, 'DELETE', `${keysOf}/${projectKey.id}`)).toBe(200);
  expect(await check(projectKey.key, 'GET', '/auth')).toBe(401);
  expect(await check(organizationKey.key, 'DELETE', `${keysOf}/${projectKey.id}`)).toBe(404);
});

test('a use is recorded with its time and with the chain of proxies that it came through', async () => {
  const { sandbox, as, organization } = await generated();
  const minted = (await as(`/organizations/${organization}/api_keys`, { method: 'POST', body: { key_name: 'used' } }))
    .body as unknown as { id: number; key: string };
  const find = async () =>
    (
      (await as(`/organizations/${organization}/api_keys`)).body as unknown as {
        id: number;
        last_used_at: string | null;
        last_used_from_addr: string;
      }[]
    ).find((key) => key.id === minted.id);
  expect(await find()).toMatchObject({ last_used_at: null, last_used_from_addr: '' });
  await ask(`${sandbox.url}/auth`, { key: minted.key, headers: { 'x-forwarded-for': '203.0.113.7,198.51.100.4' } });
  expect(await find()).toMatchObject({ last_used_from_addr: '203.0.113.7,198.51.100.4' });
  expect((await find())?.last_used_at).not.toBeNull();
});

test('beyond a limit the answer is 429, and it is counted', async () => {
  const at = Date.parse('2026-06-15T12:00:00Z');
  const { sandbox, as } = await generated({ realNowMs: () => at });
  await ask(`${sandbox.controlUrl}/limits`, {
    method: 'PUT',
    body: { per_minute: 5, per_second_per_route: null, org_key_creation_per_second: null },
  });
  await ask(`${sandbox.controlUrl}/stats`, { method: 'DELETE' });
  const statuses = [];
  for (let index = 0; index < 7; index += 1) statuses.push((await as('/auth')).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
  expect((await ask(`${sandbox.controlUrl}/stats`)).body).toEqual({
    requests: 7,
    rate_limited: 2,
    by_route: { 'GET /auth': { requests: 7, rate_limited: 2 } },
  });
});

test('state in a file survives a restart: keys, operations and the clock', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keywarden-sandbox-')), 'state.sqlite');
  const { sandbox, project } = await generated({ file });
  await ask(`${sandbox.controlUrl}/clock`, { method: 'POST', body: { advance_seconds: 86_400 } });
  const read = async (of: Sandbox) => ({
    keys: (await ask(`${of.controlUrl}/keys`)).body.length,
    operations: (await ask(`${of.controlUrl}/operations?project_id=${project}`)).body,
  });
  const before = await read(sandbox);
  await sandbox.close();
  opened.splice(opened.indexOf(sandbox), 1);
  const again = await open({ file, adminKey: sandbox.adminKey });
  expect(again.isEmpty).toBe(false);
  expect(await read(again)).toEqual(before);
  const { now } = (await ask(`${again.controlUrl}/clock`)).body as unknown as { now: string };
  expect(Date.parse(now) - Date.now()).toBeGreaterThan(86_000_000);
});

test('a control that is asked for wrongly says what is wrong and changes nothing', async () => {
  const sandbox = await open();
  const wrong = await ask(`${sandbox.controlUrl}/faults`, { method: 'PUT', body: [{ kind: 'earthquake' }] });
  expect(wrong.status).toBe(422);
  expect((await ask(`${sandbox.controlUrl}/clock`, { method: 'POST', body: { advance_seconds: -1 } })).status).toBe(
    422,
  );
});
