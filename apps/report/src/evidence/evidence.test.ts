import { createHash } from 'node:crypto';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
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
  for (const { file, sha256, records } of [...manifest.files, ...manifest.attachments]) {
    expect(
      createHash('sha256')
        .update(Buffer.from(files[file] ?? []))
        .digest('hex'),
    ).toBe(sha256);
    expect(textOf(file).split('\n').length - 1).toBe(records);
  }
  expect(Object.keys(files)).toHaveLength(manifest.files.length + manifest.attachments.length + 2);
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
  await fixture.store.sql`update keywarden.plan set created_at = '2026-04-01', last_made_at = '2026-05-20'`;
  const { textOf } = await evidenceOf('soc-2:CC6.1');
  expect(textOf('soc-2_CC6.1/02-findings.ndjson').split('\n')).toHaveLength(4);
  await fixture.store.sql`update keywarden.plan set last_made_at = '2026-04-20'`;
  const { manifest } = await evidenceOf('soc-2:CC6.1');
  expect(manifest.files[1]).toMatchObject({ records: 0, missing: 'No plan was created in the period.' });
});

test('evidence includes keys that one listing lacked and keys that were never reviewed', async () => {
  await fixture.store.sql`update keywarden.key set missing_since = '2026-06-01T00:00:00Z' where id = '13'`;
  await fixture.store.sql`
    insert into keywarden.key_observation (key_number, seen_at, event) values (${fixture.keys['13'] ?? ''}, '2026-06-01T00:00:00Z', 'missing')`;
  const { manifest, textOf } = await evidenceOf('pci-dss-4.0.1:7.2.4');
  const [unreviewed] = manifest.files.filter(({ measure }) => measure.measure === 'unreviewed_keys');
  expect(unreviewed).toMatchObject({ records: 3, exceptions: 3 });
  expect(textOf('pci-dss-4.0.1_7.2.4/04-inventory.ndjson')).toContain('"state":"missing"');
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

test.each([
  ['control=iso:1&from=2026-05-01T00:00:00Z&to=2026-06-01T00:00:00Z', 404],
  ['control=soc-2:CC6.1&from=2026-06-01T00:00:00Z&to=2026-05-01T00:00:00Z', 400],
  ['control=soc-2:CC6.1&from=2998-01-01T00:00:00Z&to=2999-05-01T00:00:00Z', 400],
])('%s is rejected', async (query, status) => {
  expect((await fixture.ask(`/v1/evidence?${query}`, { as: 'auditor' })).status).toBe(status);
});
