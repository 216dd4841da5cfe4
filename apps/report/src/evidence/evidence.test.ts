import { createHash } from 'node:crypto';
import { saveKeyListing, saveMembers } from '@keywarden/db/daemon';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { readFactsAt } from '@keywarden/testkit/store/facts';
import { makeWireKey } from '@keywarden/testkit/store/rows';
import { parse as parseCsv } from 'csv-parse/sync';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readControls } from './controls.ts';
import type { Manifest } from './summary.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

async function evidenceOf(control: string, { from = '2026-05-01T00:00:00Z', to = '2026-06-02T00:00:00Z' } = {}) {
  const query = new URLSearchParams({ control, from, to });
  const response = await fixture.app.request(`/v1/evidence?${query.toString()}`, {
    headers: { authorization: `Bearer ${fixture.tokens.auditor}` },
  });
  expect(response.status).toBe(200);
  const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
  const textOf = (name: string) => Buffer.from(files[name] ?? []).toString();
  return { files, textOf, manifest: JSON.parse(textOf('manifest.json')) as Manifest };
}

test('every control that auditors ask for exists, and its evidence can be gathered', async () => {
  const ids = readControls().map(({ id }) => id);
  expect(ids).toEqual([
    'nist-800-53:AC-2(3)',
    'nist-800-53:IA-5',
    'pci-dss-4.0.1:7.2.4',
    'pci-dss-4.0.1:8.2.6',
    'pci-dss-4.0.1:8.6.3',
    'pci-dss-4.0.1:10.5.1',
    'soc-2:CC6.1',
    'soc-2:CC6.2',
    'soc-2:CC6.3',
  ]);
  const { manifest, files, textOf } = await evidenceOf(ids.join(','));
  expect(manifest.controls.map(({ id }) => id)).toEqual(ids);
  const unassessed = manifest.files.flatMap(({ not_assessable: unknown }) => unknown ?? []);
  for (const { file, sha256 } of [...manifest.files, ...unassessed, ...manifest.attachments]) {
    expect(
      createHash('sha256')
        .update(Buffer.from(files[file] ?? []))
        .digest('hex'),
    ).toBe(sha256);
  }
  for (const { file, records } of [...manifest.files, ...unassessed])
    expect(textOf(file).split('\n').length - 1).toBe(records);
  for (const { csv, records } of [...manifest.files, ...unassessed]) {
    expect(createHash('sha256').update(textOf(csv.file)).digest('hex')).toBe(csv.sha256);
    expect(parseCsv(textOf(csv.file), { from_line: 2 })).toHaveLength(records);
  }
  // Each table twice, and the manifest with its two summaries.
  expect(Object.keys(files)).toHaveLength(
    2 * (manifest.files.length + unassessed.length) + manifest.attachments.length + 3,
  );
});

test('the summary has requirements, measurements and exceptions; blind spots make it partial', async () => {
  const { manifest, textOf } = await evidenceOf('pci-dss-4.0.1:8.2.6,pci-dss-4.0.1:7.2.4');
  const [idle] = manifest.files.filter(({ measure }) => measure.measure === 'idle_keys');
  expect(idle).toMatchObject({ records: 3, exceptions: 3 });
  const [review] = manifest.files.filter(({ measure }) => measure.measure === 'reviews');
  expect(review).toMatchObject({ records: 0, exceptions: 1, missing: expect.stringContaining('183 days') });
  expect(manifest.partial).toBe(true);
  const summary = textOf('summary.md');
  expect(summary).toContain('(partial)');
  expect(summary).toContain('Inactive accounts are removed or disabled');
  expect(summary).toContain('3 exceptions');
  expect(summary).toContain('No access review was signed');
});

test('evidence shows keys as they were at the end of the period', async () => {
  const { textOf, manifest } = await evidenceOf('soc-2:CC6.1', {
    from: '2025-01-01T00:00:00Z',
    to: '2025-12-31T00:00:00Z',
  });
  expect(manifest.as_of).toBe('2025-12-31T00:00:00Z');
  expect(textOf('soc-2_CC6.1/01-inventory.ndjson')).toBe('');
  expect(manifest.partial_because.join()).toContain('inventory');
});

test('a control whose measures count no exceptions is not reported as free of exceptions', async () => {
  const { manifest, textOf } = await evidenceOf('soc-2:CC6.1');
  expect(manifest.controls[0]?.exceptions).toBeNull();
  expect(textOf('summary.md')).toContain('No measure of this control counts exceptions');
});

test('a plan that the same facts produced again in the period counts as a plan of the period', async () => {
  await fixture.store
    .sql`update keywarden.plan set created_at = '2026-04-01', last_made_at = '2026-05-20', findings_at = '2026-05-20'`;
  await fixture.store.sql`update keywarden.finding set made_at = '2026-05-20'`;
  const { textOf } = await evidenceOf('soc-2:CC6.1');
  expect(textOf('soc-2_CC6.1/02-findings.ndjson').split('\n')).toHaveLength(4);
  await fixture.store.sql`update keywarden.plan set last_made_at = '2026-04-20'`;
  const { manifest } = await evidenceOf('soc-2:CC6.1');
  expect(manifest.files[1]).toMatchObject({ records: 0, missing: 'No plan was created in the period.' });
});

test('a creator whom no listing has ever shown has left, in evidence as in a plan', async () => {
  const { sql } = fixture.daemon;
  const [plane] = await sql`select number from keywarden.control_plane`;
  const place = { controlPlane: String(plane?.number), organizationId: 'other' };
  const member = { id: 'm', userId: 'zoe', role: 'admin', joinedAt: null, email: 'zoe@company.example' };
  for (const seenAt of ['2026-05-31T22:00:00Z', '2026-05-31T23:00:00Z'])
    await saveMembers(sql, { ...place, seenAt }, [member]);
  const { manifest, textOf } = await evidenceOf('soc-2:CC6.2');
  const [orphaned] = manifest.files;
  expect(orphaned).toMatchObject({ records: 1, exceptions: 1, not_assessable: { records: 2 } });
  expect(JSON.parse(textOf('soc-2_CC6.2/01-orphaned_keys.ndjson'))).toMatchObject({
    id: '13',
    because: expect.stringContaining('no longer a member'),
  });
  expect(manifest.controls[0]).toMatchObject({ exceptions: 1, not_assessable: 2 });
  expect(textOf('summary.md')).toContain('2 because it is unknown whether its creator is still a member');
  const facts = await readFactsAt(fixture.daemon, '2026-06-01T00:00:00Z');
  expect(facts.keys.map(({ id, creator }) => `${id} ${creator}`).toSorted()).toEqual([
    '12 unknown',
    '13 left',
    '9007199254740993 unknown',
  ]);
});

test('a time without listings makes no key idle: its use is not assessable, and the summary counts it apart', async () => {
  const { sql } = fixture.daemon;
  const [plane] = await sql`select number from keywarden.control_plane`;
  const listing = {
    controlPlane: String(plane?.number),
    scope: 'organization:late',
    organizationId: 'late',
    connection: 'main',
    run: null,
  };
  const made = { createdAt: '2025-06-01T00:00:00Z' };
  const keys = [
    makeWireKey('70', { ...made, lastUsedAt: '2026-05-30T00:00:00Z', lastUsedFromAddr: '192.0.2.1' }),
    makeWireKey('71', { ...made, lastUsedAt: '2025-07-01T00:00:00Z', lastUsedFromAddr: '192.0.2.1' }),
    makeWireKey('72', made),
  ];
  await saveKeyListing(sql, { ...listing, listedAt: '2026-06-01T00:00:00Z', begunAt: '2026-06-01T00:00:00Z', keys });
  const { manifest, textOf } = await evidenceOf('pci-dss-4.0.1:8.2.6', { from: '2025-06-01', to: '2026-03-31' });
  const [idle] = manifest.files.filter(({ measure }) => measure.measure === 'idle_keys');
  expect(idle).toMatchObject({ exceptions: 2, not_assessable: { records: 1 } });
  const idsOf = (file: string) =>
    textOf(file)
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id);
  expect(idsOf(idle?.file ?? '')).toEqual(['71', '72']);
  expect(idsOf(idle?.not_assessable?.file ?? '')).toEqual(['70']);
  const page = textOf('summary.html');
  expect(page).toContain('no listing shows it for that time');
  expect(page).not.toContain('<script');
  // The end of a date's day: April 1 at midnight.
  expect(manifest.as_of).toBe('2026-04-01T00:00:00.000Z');
});

test('by default evidence covers the year before now, of all controls; file names tell archives apart', async () => {
  const nameOf = async (query: string) => {
    const { headers, status } = await fixture.ask(`/v1/evidence?${query}`, { as: 'auditor' });
    expect(status).toBe(200);
    return /filename="(.*)"/.exec(headers.get('content-disposition') ?? '')?.[1];
  };
  const names = [
    await nameOf(''),
    await nameOf('control=soc-2:CC6.1'),
    await nameOf('control=soc-2:CC6.2'),
    await nameOf('control=soc-2:CC6.1&control=pci-dss-4.0.1:8.2.6'),
  ];
  expect(names).toEqual([
    expect.stringMatching(/^keywarden-evidence-all-2025-\d\d-\d\d-2026-\d\d-\d\d\.zip$/),
    expect.stringContaining('soc-2_CC6.1'),
    expect.stringContaining('soc-2_CC6.2'),
    expect.stringContaining('evidence-soc-2_pci-dss-4.0.1-'),
  ]);
  const days = [await nameOf('from=2026-02-01&to=2026-03-31'), await nameOf('from=2026-02-01&to=2026-03-31T12:00:00Z')];
  expect(days).toEqual(Array(2).fill('keywarden-evidence-all-2026-02-01-2026-03-31.zip'));
});

test('evidence lists keys that were never reviewed; whether a key that one listing lacked existed is unknown', async () => {
  await fixture.store.sql`update keywarden.key set missing_since = '2026-06-01T00:00:00Z' where id = '13'`;
  await fixture.store.sql`
    insert into keywarden.key_observation (key_number, seen_at, event) values (${fixture.keys['13'] ?? ''}, '2026-06-01T00:00:00Z', 'missing')`;
  const { manifest, textOf } = await evidenceOf('pci-dss-4.0.1:7.2.4');
  const [unreviewed] = manifest.files.filter(({ measure }) => measure.measure === 'unreviewed_keys');
  expect(unreviewed).toMatchObject({
    records: 5,
    exceptions: 5,
    not_assessable: { records: 1, because: [{ reason: 'it is unknown whether it still existed', keys: 1 }] },
  });
  expect(textOf('pci-dss-4.0.1_7.2.4/04-inventory.ndjson')).toContain('"state":"missing"');
});

test('evidence has each incident that was open in the period, also those of before', async () => {
  await fixture.store.sql`
    insert into keywarden.incident (kind, opened_at, closed_at, closed_by, note, detail) values
      ('breaker', '2026-03-01', '2026-03-02', 'ada', 'closed before', '{}'), ('breaker', '2026-03-03', '2026-05-02', 'ada', 'closed within', '{}'),
      ('breaker', '2026-03-05', '2026-07-01', 'ada', 'closed after', '{}'), ('breaker', '2026-06-03', '2026-06-04', 'ada', 'opened after', '{}')`;
  const { manifest, textOf } = await evidenceOf('soc-2:CC6.1');
  const { file } = manifest.files.find(({ measure }) => measure.measure === 'incidents') ?? {};
  const notes = textOf(String(file)).match(/(closed|opened) (before|within|after)/g);
  expect(notes?.toSorted()).toEqual(['closed after', 'closed within']);
});

test('months without a walk are a gap in the history, even recent ones', async () => {
  const [project] = await fixture.store.sql`select number from keywarden.project where id = 'quiet-river'`;
  await fixture.store.sql`
    update keywarden.project set created_at = '2025-01-01', last_seen_at = '2026-06-01', walked_at = '2025-09-01' where number = ${String(project?.number)}`;
  await fixture.store.sql`
    update keywarden.operation_coverage set known = '{[2025-01-01,2025-09-01]}' where project_number = ${String(project?.number)}`;
  const { manifest, textOf } = await evidenceOf('pci-dss-4.0.1:10.5.1');
  expect(textOf('pci-dss-4.0.1_10.5.1/01-operation_history.ndjson')).toContain('"from":"2025-09-01T00:00:00Z"');
  expect(manifest.partial_because.join()).toContain('operations');
});

test('the twelve months before the end of a period include the leap day', async () => {
  const [project] = await fixture.store.sql`select number from keywarden.project where id = 'quiet-river'`;
  await fixture.store.sql`
    update keywarden.project set created_at = '2023-01-01', last_seen_at = '2026-06-01', walked_at = '2026-06-01' where number = ${String(project?.number)}`;
  await fixture.store.sql`
    update keywarden.operation_coverage set known = '{[2023-01-01,2023-03-01T06:00Z),[2023-03-01T07:00Z,2026-06-01]}'
    where project_number = ${String(project?.number)}`;
  const year = { from: '2024-02-01T00:00:00Z', to: '2024-03-01T00:00:00Z' };
  const { textOf } = await evidenceOf('pci-dss-4.0.1:10.5.1', year);
  expect(textOf('pci-dss-4.0.1_10.5.1/01-operation_history.ndjson')).toContain('"from":"2023-03-01T06:00:00Z"');
});

test.each([
  ['control=iso:1&from=2026-05-01T00:00:00Z&to=2026-06-01T00:00:00Z', 404],
  ['control=soc-2:CC6.1&from=2026-06-01T00:00:00Z&to=2026-05-01T00:00:00Z', 400],
  ['control=soc-2:CC6.1&from=2998-01-01T00:00:00Z&to=2999-05-01T00:00:00Z', 400],
])('%s is rejected', async (query, status) => {
  expect((await fixture.ask(`/v1/evidence?${query}`, { as: 'auditor' })).status).toBe(status);
});

test.each(['9999-12-31', '0000-06-01'])(
  'the day %s is refused in words: Postgres writes its end in another way',
  async (day) => {
    const { status, body } = await fixture.ask(`/v1/evidence?to=${day}`, { as: 'auditor' });
    expect([status, body.detail]).toEqual([400, 'to: is not in the years 1 to 9998. /docs lists the parameters.']);
  },
);

test('signed reviews and the coverage are attached; a review whose rows changed reviewed nothing', async () => {
  const post = async (path: string, body: object | undefined, as: string) =>
    (await fixture.ask(path, { as, method: 'POST', ...(body && { body }) })).body;
  const { id } = await post('/v1/reviews', { title: 'signed', keys: { organization_id: 'acme' } }, 'auditor');
  const keys = ['9007199254740993', '12'].map((key) => fixture.keys[key]);
  await post(`/v1/reviews/${id}/decisions`, { keys, decision: 'keep', reason: 'in use' }, 'auditor');
  const { sha256 } = await post(`/v1/reviews/${id}/signature`, undefined, 'operator');
  const until = new Date(Date.now() + 60_000).toISOString();
  const take = async () => {
    const made = await evidenceOf('pci-dss-4.0.1:7.2.4', { to: until });
    const of = (name: string) => made.manifest.files.find(({ measure }) => measure.measure === name);
    return { ...made, of };
  };
  const before = await take();
  expect(before.manifest.attachments).toContainEqual({ file: `reviews/${id}.json`, records: 1, sha256 });
  expect(JSON.parse(before.textOf(`reviews/${id}.json`))).toMatchObject({
    items: [{ decision: 'keep' }, { decision: 'keep' }],
  });
  expect(parseCsv(before.textOf('reviews/signatures.csv'), { columns: true })).toEqual([
    expect.objectContaining({ id: String(id), sha256, intact: 'true' }),
  ]);
  const projects = before.textOf('coverage/operations.ndjson').trim().split('\n');
  expect(projects.map((line) => (JSON.parse(line) as { project_id: string }).project_id)).toEqual([
    'quiet-river',
    'bold-moon',
  ]);
  expect(before.textOf('coverage/keys.ndjson')).toContain('organization:acme');
  expect(before.of('reviews')?.exceptions).toBe(0);

  // The keys are shown as of the control plane's time, which is before today here.
  await fixture.store
    .sql`update keywarden.review_signature set signed_at = '2026-05-31' where review_number = ${String(id)}`;
  const unreviewed = async () => {
    const { manifest } = await evidenceOf('soc-2:CC6.3', { to: until });
    return manifest.files.find(({ measure }) => measure.measure === 'unreviewed_keys')?.exceptions;
  };
  const reviewed = await unreviewed();
  fixture.store.isTampered();
  await fixture.store.sql`update keywarden.review_decision set reason = 'changed' where review_number = ${String(id)}`;
  const after = await take();
  expect(after.of('reviews')?.exceptions).toBe(1);
  expect(after.textOf('reviews/signatures.ndjson')).toContain('"intact":false');
  expect(await unreviewed()).toBe((reviewed ?? 0) + 2);
});
