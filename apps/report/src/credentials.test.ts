import { sha256 } from '@keywarden/core/values';
import { unknownTime, type WireCredential } from '@keywarden/core/wire';
import { saveProjects } from '@keywarden/db/daemon';
import { type Fixture, listCredentials, makeCredential, makeFixture } from '@keywarden/testkit/report/fixture';
import { makeControlPlane, makeWireProject } from '@keywarden/testkit/store/rows';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { exceptionsInWords, type Manifest, summarize } from './evidence/summary.ts';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
  const list = async (organizationId: string, listedAt: string, keys: WireCredential[]) =>
    await listCredentials(fixture, { organizationId, listedAt, keys });
  for (const listedAt of ['2026-05-30T00:00:00Z', '2026-05-31T00:00:00Z']) {
    await list('acme', listedAt, [
      makeCredential({
        kind: 'branch_credential',
        id: 'nak_live_1',
        name: 'backup',
        extra: { scopes: ['storage:read'] },
      }),
      makeCredential({ kind: 'branch_credential', id: 'nak_live_2', expiresAt: '2026-06-05T00:00:00Z' }),
      makeCredential({ kind: 'branch_credential', id: 'nak_live_3', expiresAt: '2026-05-05T00:00:00Z' }),
    ]);
    await list('acme', listedAt, [makeCredential({ kind: 'role', id: 'br-main/app', name: 'app' })]);
    await list('other', listedAt, [
      makeCredential({
        kind: 'project_permission',
        id: 'p1',
        projectId: 'bold-moon',
        branchId: null,
        holder: 'eve@agency.example',
        createdAt: unknownTime,
      }),
    ]);
  }
});
afterAll(async () => await fixture.close());

const idsOf = async (query: string, as = 'viewer') => {
  const { status, body } = await fixture.ask(`/v1/credentials${query}`, { as });
  expect(status).toBe(200);
  return body.items.map(({ id }) => String(id)).toSorted();
};

test('credentials that are not API keys appear in their own list and in no other list or metric', async () => {
  expect(await idsOf('')).toEqual(['br-main/app', 'nak_live_1', 'nak_live_2', 'nak_live_3', 'p1']);
  expect(await idsOf('?kind=role')).toEqual(['br-main/app']);
  expect(await idsOf('?holder=eve%40agency.example')).toEqual(['p1']);
  expect(await idsOf('?expires_within=7d')).toEqual(['nak_live_2', 'nak_live_3']);
  expect(await idsOf('?expires=false&kind=branch_credential')).toEqual(['nak_live_1']);
  // A credential without an upstream age or last use is neither old nor idle.
  expect(await idsOf('?older_than=90d')).toEqual(['br-main/app', 'nak_live_1', 'nak_live_2', 'nak_live_3']);
  expect(await idsOf('?idle_for=90d')).toEqual(['nak_live_1', 'nak_live_2', 'nak_live_3']);
  const keys = (await fixture.ask('/v1/keys')).body.items.map(({ kind }) => kind);
  expect(keys).toHaveLength(3);
  const { text } = await fixture.ask('/metrics', { as: 'viewer' });
  expect((await fixture.ask('/v1/keys?kind=role')).status).toBe(400);
  expect(text).not.toContain('nak_live');
});

test('what the control plane does not report of a credential is not shown as never', async () => {
  const expiryOf = async (kind: string) => {
    const [{ number } = {}] = (await fixture.ask(`/v1/credentials?kind=${kind}`)).body.items;
    const { text } = await fixture.ask(`/keys/${String(number)}`, { headers: { accept: 'text/html' } });
    return /<dt>Expires<\/dt><dd>([^<]*)</.exec(text)?.[1];
  };
  expect([await expiryOf('branch_credential'), await expiryOf('role')]).toEqual(['never', 'not reported']);
  // A filter claims what the page claims.
  expect(await idsOf('?expires=false')).toEqual(['nak_live_1']);
});

test('P1: a token of one organization sees only the credentials of that organization', async () => {
  expect(await idsOf('', 'acme')).toEqual(['br-main/app', 'nak_live_1', 'nak_live_2', 'nak_live_3']);
  const [{ number } = {}] = (await fixture.ask('/v1/credentials?kind=project_permission')).body.items;
  for (const path of ['', '/observations', '/uses']) {
    expect((await fixture.ask(`/v1/credentials/${String(number)}${path}`)).status).toBe(200);
    expect((await fixture.ask(`/v1/credentials/${String(number)}${path}`, { as: 'acme' })).status).toBe(404);
    // A credential is not a key.
    expect((await fixture.ask(`/v1/keys/${String(number)}${path}`)).status).toBe(404);
  }
});

test('as_of shows past credentials and the gaps: before the first listing, and scopes without a listing', async () => {
  const gapsAt = async (at: string) => {
    const { body } = await fixture.ask(`/v1/credentials?as_of=${at}`);
    return (body.holes as unknown as { scope: string }[]).map(({ scope }) => scope);
  };
  expect(await gapsAt('2026-05-30T12:00:00Z')).not.toContain('role:acme/quiet-river');
  expect(await gapsAt('2026-05-30T12:00:00Z')).toContain('jwks:acme/quiet-river');
  expect(await gapsAt('2026-05-20T00:00:00Z')).toContain('role:acme/quiet-river');
  const { body } = await fixture.ask('/v1/credentials?as_of=2026-05-20T00:00:00Z');
  expect(body.items.find(({ id }) => id === 'p1')).toMatchObject({ state: 'unknown', created_at: null });
  expect(body.items.find(({ id }) => id === 'nak_live_1')).toMatchObject({ state: 'active' });
});

test('the page of an API key has its rotations and offers one; that of another credential does not', async () => {
  const rotationsOf = async (list: string) => {
    const [{ number } = {}] = (await fixture.ask(`/v1/${list}`)).body.items;
    const { text } = await fixture.ask(`/keys/${String(number)}`, { as: 'operator', headers: { accept: 'text/html' } });
    return [text.includes('<h2>Rotations</h2>'), text.includes('Request a rotation')];
  };
  expect(await rotationsOf('keys?state=active')).toEqual([true, true]);
  expect(await rotationsOf('credentials')).toEqual([false, false]);
});

test('a review of credentials is decided and signed like a review of keys, but rotation is rejected', async () => {
  const asked = { title: 'branches', credentials: { kind: 'branch_credential' } };
  const both = { ...asked, keys: {} };
  expect((await fixture.ask('/v1/reviews', { as: 'auditor', method: 'POST', body: both })).status).toBe(400);
  const opened = await fixture.ask('/v1/reviews', { as: 'auditor', method: 'POST', body: asked });
  expect(opened.status).toBe(201);
  const review = String((opened.body as { id?: string }).id);
  const { items } = (await fixture.ask(`/v1/reviews/${review}/keys`)).body;
  const reviewed = items.map(({ key }) => key as unknown as { number: string; id: string; expires_at: string | null });
  expect(reviewed.map(({ id, expires_at: at }) => [id, at])).toEqual([
    ['nak_live_1', null],
    ['nak_live_2', '2026-06-05T00:00:00Z'],
    ['nak_live_3', '2026-05-05T00:00:00Z'],
  ]);
  const decide = async (keys: string[], decision: string) =>
    await fixture.ask(`/v1/reviews/${review}/decisions`, {
      as: 'auditor',
      method: 'POST',
      body: { keys, decision, reason: 'looked at' },
    });
  const numbers = reviewed.map(({ number }) => number);
  const refused = await decide(numbers, 'rotate');
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('Only API keys can be rotated')]);
  expect((await decide(numbers.slice(0, 1), 'revoke')).status).toBe(201);
  expect((await decide(numbers.slice(1), 'keep')).status).toBe(201);
  const signed = await fixture.ask(`/v1/reviews/${review}/signature`, { as: 'operator', method: 'POST' });
  expect(signed.body).toMatchObject({ revocations: 1, rotations: 0 });
});

test('evidence contains the existing credentials, the expired ones, and the gaps in their inventory', async () => {
  const query = 'control=nist-800-53:IA-5&from=2026-05-30T00:00:00Z&to=2026-06-02T00:00:00Z';
  const response = await fixture.app.request(`/v1/evidence?${query}`, {
    headers: { authorization: `Bearer ${fixture.tokens.auditor}` },
  });
  const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
  const manifest = JSON.parse(Buffer.from(files['manifest.json'] ?? []).toString()) as Manifest;
  const recordsOf = (name: string) => manifest.files.find(({ measure }) => measure.measure === name);
  expect(recordsOf('credentials')).toMatchObject({ records: 5, exceptions: null });
  const expired = recordsOf('expired_credentials');
  expect(expired).toMatchObject({ records: 1, exceptions: 1 });
  expect(expired?.not_assessable?.because).toContainEqual({
    reason: 'its expiry is unknown: the control plane does not report when a role expires',
    keys: 1,
  });
  expect(manifest.attachments.map(({ file }) => file)).toContain('not-seen/credential-holes.ndjson');
  expect(manifest.partial_because.join()).toContain('the inventory of other credentials has');
  // Credentials of scopes that were never listed may be exceptions.
  const summary = Buffer.from(files['summary.md'] ?? []).toString();
  expect(summary).toContain(', no exception in what was observed');
  expect(summary).not.toMatch(/None found\.|no exception(?! in what was observed)/);
  const [control] = manifest.controls;
  const none = { ...control, exceptions: 0, not_assessable: 0 } as Manifest['controls'][number];
  expect(exceptionsInWords(none, manifest)).toBe('None found in what was observed.');
  expect(exceptionsInWords(none, { partial: false })).toBe('None found.');
  // Gaps of what no control measures make no archive partial.
  expect(summarize({ ...manifest, partial: false })).toContain('gap in the period is known of what was measured');
});

test('P3: an export of credentials ends with a line that states its content', async () => {
  const { status, text } = await fixture.ask('/v1/exports/credentials?kind=branch_credential', { as: 'auditor' });
  expect(status).toBe(200);
  const lines = text.trim().split('\n');
  expect(lines).toHaveLength(4);
  expect(lines[0]).toMatch(/"detail":\{"scopes": ?\["storage:read"\]\}/);
  expect(lines.at(-1)).toContain('"count":3');
  const csv = await fixture.ask('/v1/exports/credentials?format=csv', { as: 'auditor' });
  expect(csv.text.split('\n')[0]).toContain('expires_at');
});

test('a credential without a creator belongs to the owner of its project at its own control plane, and an API key does not', async () => {
  const { sql } = fixture.store;
  const elsewhere = await makeControlPlane(fixture.daemon.sql, { name: 'elsewhere', baseUrl: 'sandbox elsewhere' });
  const listing = {
    controlPlane: elsewhere,
    seenAt: '2026-05-31T00:00:00Z',
    organizationId: 'acme',
    unavailableIds: [],
  };
  await saveProjects(fixture.daemon.sql, listing, [makeWireProject('quiet-river', { ownerId: 'eve' })]);
  await sql`update keywarden.project set owner_id = 'pat' where id = 'quiet-river' and control_plane_number <> ${elsewhere}`;
  await sql`update keywarden.credential set creator_id = case id when 'nak_live_1' then 'zoe' else 'unknown' end`;
  const ownersIn = async (list: string) =>
    Object.fromEntries((await fixture.ask(`/v1/${list}`)).body.items.map(({ id, owner }) => [id, owner]));
  expect(await ownersIn('credentials')).toMatchObject({ 'br-main/app': 'pat', nak_live_1: 'zoe', p1: 'unknown' });
  expect(await ownersIn('keys')).toMatchObject({ 12: 'unknown' });
});

test('only an API key can be rotated, also by a login of the report without the report', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  const request = async (id: string) =>
    await sql`
      select keywarden.request_rotation(${sha256(fixture.tokens.operator ?? '')}, number, 'leaked')
      from keywarden.credential where id = ${id}`;
  await expect(request('br-main/app')).rejects.toMatchObject({ code: 'KW004' });
  await request('12');
  const made = await fixture.store.sql`select requested_by from keywarden.rotation_request where reason = 'leaked'`;
  expect(made).toEqual([{ requested_by: 'operator (report token 3)' }]);
});
