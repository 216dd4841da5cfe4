import { type Fixture, listCredentials, makeCredential, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

let fixture: Fixture;
/** The numbers of credentials in the store, by id. */
const credentials: Record<string, string> = {};
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
  await fixture.signIn('viewer');
  await fixture.store.sql`
    insert into keywarden.report_export (sha256, path, records) values (${exported}, '/v1/exports/keys', 0)`;
  await fixture.ledger.sign();
  for (const [organizationId, projectId, id] of [
    ['acme', 'quiet-river', 'br-main/app'],
    ['other', 'bold-moon', 'br-main/theirs'],
  ] as const) {
    const keys = [makeCredential({ kind: 'role', id, projectId })];
    Object.assign(
      credentials,
      await listCredentials(fixture, { organizationId, listedAt: '2026-05-31T00:00:00Z', keys }),
    );
  }
});
afterAll(async () => await fixture.close());

interface Sample {
  method?: 'POST';
  /** The path as described in openapi.json. */
  path: string;
  query?: string;
  body?: object;
  /** The minimum role. */
  role?: 'viewer' | 'auditor' | 'operator';
  /** Requires a token that sees all organizations. */
  spans?: true;
  status?: number;
  /** A request for a record of the other organization, if there is one. */
  others?: { path?: string; query?: string; body?: object };
}

/** Placeholders for the numbers of a key of `acme` and a key of `other`. */
const key = 'KEY';
const other = 'OTHER';
const exported = '0'.repeat(64);
const operation = '00000000-0000-4000-8000-000000000003';
const reason = 'because';

/** Each route, with a request that it answers. */
const samples: Sample[] = [
  { path: '/v1/keys', others: { query: 'organization_id=other' } },
  { path: '/v1/keys/{key}', others: { path: `/v1/keys/${other}` } },
  { path: '/v1/keys/{key}/observations', others: { path: `/v1/keys/${other}/observations` } },
  { path: '/v1/keys/{key}/uses', others: { path: `/v1/keys/${other}/uses` } },
  { path: '/v1/credentials', others: { query: 'organization_id=other' } },
  { path: '/v1/credentials/{credential}', others: { path: '/v1/credentials/THEIRS' } },
  { path: '/v1/credentials/{credential}/observations', others: { path: '/v1/credentials/THEIRS/observations' } },
  { path: '/v1/credentials/{credential}/uses', others: { path: '/v1/credentials/THEIRS/uses' } },
  { path: '/v1/findings', others: { query: `key=${other}` } },
  { path: '/v1/revocations', others: { query: `key=${other}` } },
  { path: '/v1/incidents', others: { query: 'kind=breaker' } },
  { path: '/v1/plans', spans: true },
  { path: '/v1/plans/{plan_id}', spans: true },
  { path: '/v1/plans/{plan_id}/decisions', spans: true },
  { method: 'POST', path: '/v1/plans/{plan_id}/approvals', role: 'operator', spans: true, status: 201 },
  {
    method: 'POST',
    path: '/v1/plans/{plan_id}/parts',
    body: { organization_id: 'acme' },
    role: 'operator',
    spans: true,
    status: 201,
  },
  {
    method: 'POST',
    path: '/v1/plans/{plan_id}/rejections',
    body: { reason },
    role: 'operator',
    spans: true,
    status: 201,
  },
  { path: '/v1/exemptions', others: { query: `key=${other}` } },
  {
    method: 'POST',
    path: '/v1/exemptions',
    body: { keys: [key], reason, for: '30d' },
    role: 'operator',
    status: 201,
    others: { body: { keys: [key, other], reason, for: '30d' } },
  },
  {
    method: 'POST',
    path: '/v1/exemptions/{exemption}/end',
    role: 'operator',
    others: { path: '/v1/exemptions/2/end' },
  },
  { path: '/v1/rotations', others: { query: `key=${other}` } },
  { path: '/v1/rotations/{rotation_id}' },
  { path: '/v1/rotation-requests', others: { query: `key=${other}` } },
  {
    method: 'POST',
    path: '/v1/rotation-requests',
    body: { key, reason },
    role: 'operator',
    status: 202,
    others: { body: { key: other, reason } },
  },
  { path: '/v1/reviews', spans: true },
  { method: 'POST', path: '/v1/reviews', body: { title: 'spring' }, role: 'auditor', spans: true, status: 201 },
  { path: '/v1/reviews/{review}', spans: true },
  { path: '/v1/reviews/{review}/keys', spans: true },
  { path: '/v1/reviews/{review}/decisions', spans: true },
  { path: '/v1/reviews/{review}/document', spans: true },
  {
    method: 'POST',
    path: '/v1/reviews/{review}/decisions',
    body: { keys: ['LAST', key, other], decision: 'keep', reason },
    role: 'auditor',
    spans: true,
    status: 201,
  },
  { method: 'POST', path: '/v1/reviews/{review}/signature', role: 'operator', spans: true, status: 201 },
  { path: '/v1/campaigns', spans: true },
  {
    method: 'POST',
    path: '/v1/campaigns',
    body: { title: 'spring', split_by: 'owner', due_at: new Date(Date.now() + 86_400_000).toISOString() },
    role: 'auditor',
    spans: true,
    status: 201,
  },
  { path: '/v1/campaigns/{campaign}', spans: true },
  { method: 'POST', path: '/v1/campaigns/{campaign}/cancel', body: { reason }, role: 'auditor', spans: true },
  { path: '/v1/operations', others: { query: 'project_id=bold-moon' } },
  {
    path: '/v1/projects/{project_id}/operations/{operation_id}/versions',
    others: { path: `/v1/projects/bold-moon/operations/${operation}/versions` },
  },
  {
    path: '/v1/operations/buckets',
    query: 'from=2026-05-01T00:00:00Z&to=2026-06-01T00:00:00Z',
    others: { query: 'from=2026-05-01T00:00:00Z&to=2026-06-01T00:00:00Z&project_id=bold-moon' },
  },
  { path: '/v1/organizations' },
  { path: '/v1/projects', others: { query: 'organization_id=other' } },
  { path: '/v1/coverage/operations', others: { query: 'project_id=bold-moon' } },
  { path: '/v1/coverage/inventory' },
  { path: '/v1/runs', spans: true },
  { path: '/v1/connections', spans: true },
  { path: '/v1/access-log', role: 'auditor', spans: true },
  { path: '/v1/sessions', role: 'operator', spans: true },
  { method: 'POST', path: '/v1/sessions/{session}/end', role: 'operator', spans: true },
  { path: '/v1/me' },
  { path: '/v1/exports/keys', role: 'auditor', others: { query: 'organization_id=other' } },
  { path: '/v1/exports/credentials', role: 'auditor', others: { query: 'organization_id=other' } },
  { path: '/v1/exports/findings', role: 'auditor', others: { query: `key=${other}` } },
  { path: '/v1/exports/revocations', role: 'auditor', others: { query: `key=${other}` } },
  { path: '/v1/exports/reviews', role: 'auditor', spans: true },
  { path: '/v1/exports/operations', role: 'auditor', others: { query: 'project_id=bold-moon' } },
  { path: '/v1/exports/sealed-operations', query: 'from=2026-05-01&to=2026-05-02', role: 'auditor' },
  { path: '/v1/exports/{sha256}/receipt', role: 'auditor', spans: true },
  { path: '/v1/ledger/events', role: 'auditor', spans: true },
  { path: '/v1/ledger/events/{event}/receipt', role: 'auditor', spans: true },
  { path: '/v1/evidence/controls' },
  {
    path: '/v1/evidence',
    query: 'control=soc-2:CC6.1&from=2026-05-01T00:00:00Z&to=2026-06-01T00:00:00Z',
    role: 'auditor',
    spans: true,
  },
];

const fill = (text: string) =>
  text
    .replaceAll('{key}', key)
    .replaceAll('{credential}', credentials['br-main/app'] ?? '')
    .replaceAll('THEIRS', credentials['br-main/theirs'] ?? '')
    .replaceAll('KEY', fixture.keys['12'] ?? '')
    .replaceAll('OTHER', fixture.keys['13'] ?? '')
    .replaceAll('LAST', fixture.keys['9007199254740993'] ?? '')
    .replace('{plan_id}', fixture.planId)
    .replace('{event}', '1')
    .replace('{sha256}', exported)
    .replace('{exemption}', '1')
    .replace('{rotation_id}', 'abcd2345')
    .replace('{review}', '1')
    .replace('{campaign}', '1')
    .replace('{session}', '1')
    .replace('{project_id}', 'quiet-river')
    .replace('{operation_id}', operation);
const addressOf = ({ path, query }: Pick<Sample, 'path' | 'query'>) =>
  fill(query === undefined ? path : `${path}?${query}`);

let peers = 0;
/** Sends a request from its own address, because some send wrong tokens. */
const send = async ({ method, body, ...place }: Sample, as: string | null) =>
  await fixture.ask(addressOf(place), {
    as,
    headers: { 'x-peer': `127.0.${++peers >> 8}.${peers & 255}` },
    ...(method === undefined ? {} : { method }),
    ...(body === undefined ? {} : { body: JSON.parse(fill(JSON.stringify(body))) as object }),
  });

const ranks = ['viewer', 'auditor', 'operator'];
const named = samples.map((sample): [string, Sample] => [`${sample.method ?? 'GET'} ${sample.path}`, sample]);

test('the samples are exactly the described routes that require a token', async () => {
  const { text } = await fixture.ask('/openapi.json');
  const { paths } = JSON.parse(text) as { paths: Record<string, object> };
  const described = Object.entries(paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));
  expect(described.toSorted()).toEqual(named.map(([name]) => name).toSorted());
});

test('each operation has an id of its own and says whether it needs a token; only the probes need none', async () => {
  const { text } = await fixture.ask('/openapi.json', { as: null });
  const { paths, servers } = JSON.parse(text) as {
    paths: Record<string, Record<string, { operationId: string; security: object[] }>>;
    servers: object[];
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, ...operation })),
  );
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z0-9]+$/);
  expect(ids).toContain('postPlansByPlanIdApprovals');
  const open = operations.filter(({ security }) => security.length === 0).map(({ path }) => path);
  expect(open.toSorted()).toEqual(['/healthz', '/readyz']);
  expect(servers).toHaveLength(1);
});

describe.each(named)('%s', (_name, sample) => {
  test('requires a valid token, and does not repeat the given one', async () => {
    for (const token of [null, 'kwr_wrong-wrong-wrong']) {
      const { status, text } = await send(sample, token);
      expect(status).toBe(401);
      expect(text).not.toContain('wrong-wrong');
    }
  });

  test('rejects lesser roles, and the error names the required role', async () => {
    const least = ranks.indexOf(sample.role ?? 'viewer');
    for (const role of ranks.slice(0, least)) {
      const { status, text } = await send(sample, role);
      expect(status).toBe(403);
      expect(text).toContain(`requires the role ${sample.role}`);
    }
  });

  test('rejects an unknown parameter, and the error names it', async () => {
    const query = `${sample.query === undefined ? '' : `${sample.query}&`}colour=blue`;
    const { status, text } = await send({ ...sample, query }, 'operator');
    expect(status).toBe(400);
    expect(text).toContain('colour');
  });

  test('answers', async () => {
    const answer = await send(sample, sample.role ?? 'viewer');
    expect(answer.text).not.toBe('');
    expect(answer.status).toBe(sample.status ?? 200);
  });
});

test.each(named.filter(([, { spans }]) => spans))(
  '%s rejects a token of one organization, because it spans all',
  async (_name, sample) => {
    expect((await send(sample, 'acme')).status).toBe(403);
  },
);

test.each(named.filter(([, { spans }]) => !spans))(
  '%s shows a token of one organization nothing of another',
  async (_name, sample) => {
    const { status, text } = await send({ ...sample, ...sample.others }, 'acme');
    expect([200, 404]).toContain(status);
    expect(text).not.toMatch(/bold-moon|organization:other|"id":"13"/);
    const own = await send(sample, 'acme');
    expect([sample.status ?? 200, 409]).toContain(own.status);
  },
);

test('P1: the description has a 304 for each route whose answers have an ETag, and for no other', async () => {
  const { text } = await fixture.ask('/openapi.json', { as: null });
  const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, { responses: object }>> };
  const compared = new Set<boolean>();
  for (const [name, sample] of named.filter(([, { method }]) => method === undefined)) {
    const { status, headers } = await send(sample, 'operator');
    if (status !== 200) continue; // a sample above makes the record
    expect([name, '304' in (paths[sample.path]?.get?.responses ?? {})]).toEqual([name, headers.has('etag')]);
    compared.add(headers.has('etag'));
  }
  expect(compared.size).toBe(2);
});
