import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeOperationPartitions, saveOperationPage } from '@keywarden/db/daemon';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { makeWireOperation } from '@keywarden/testkit/store/rows';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { buildGoVerifier } from './go-verifier.ts';
import { amend, download, type Files, pack, unpack } from './packs.ts';

// An auditor's machine: the archives, the public key, and no network.

let fixture: Fixture;
let folder: string;
let goVerifier: string;
const main = fileURLToPath(new URL('../../../../apps/daemon/src/main.ts', import.meta.url));
const quarter = 'from=2026-01-01&to=2026-03-31';
const projects = ['quiet-river', 'bold-moon', 'calm-lake'];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'keywarden-offline-'));
  goVerifier = buildGoVerifier(folder);
  fixture = await makeFixture(inject('postgresUrl'));
  const { store, daemon } = fixture;
  await makeOperationPartitions(daemon.sql, ['2026-01', '2026-02', '2026-03']);
  const [plane] = await store.sql`select number from keywarden.control_plane`;
  await store.sql`
    insert into keywarden.project (control_plane_number, id, organization_id, name, created_at, updated_at, first_seen_at, last_seen_at)
    values (${String(plane?.number)}, 'calm-lake', 'acme', 'p', '2026-01-01', now(), now(), '2026-04-10')`;
  await store.sql`update keywarden.project set created_at = '2026-01-01', walked_at = '2026-04-10', last_seen_at = '2026-04-10'`;
  for (const [number, id] of projects.entries()) {
    const [project] = await store.sql`select number from keywarden.project where id = ${id}`;
    const operations = Array.from({ length: 4000 }, (_, index) => {
      const at = new Date(Date.UTC(2026, 0, 1) + index * 1_900_000 + number * 1000).toISOString().replace('.000Z', 'Z');
      return makeWireOperation(number * 10_000 + index, { createdAt: at, updatedAt: at, projectId: id });
    });
    await saveOperationPage(daemon.sql, {
      project: String(project?.number),
      operations,
      proof: { from: '2026-01-01T00:00:00Z', isFromIncluded: true, below: '2026-04-10T00:00:00Z' },
    });
  }
  await fixture.ledger.sign();
});
afterAll(async () => {
  await fixture.close();
  rmSync(folder, { recursive: true });
});

/** Runs a program in a network namespace of its own: it reaches nothing, not even a database on this machine. */
function runOffline(command: string, args: string[]): { status: number | null; stdout: string } {
  const { PATH, LD_PRELOAD } = process.env;
  const { status, stdout } = spawnSync('unshare', ['-n', command, ...args], {
    encoding: 'utf8',
    env: { PATH, LD_PRELOAD, HOME: folder, KEYWARDEN_DATA: join(folder, 'none') },
    maxBuffer: 100_000_000,
  });
  return { status, stdout };
}

const keywarden = (...files: string[]) =>
  runOffline(process.execPath, [...process.execArgv, main, 'verify', ...files, '--key', fixture.ledger.publicKey]);
/** Writes an archive, and its files into a folder: the second verifier reads what was unpacked. */
function write(files: Files): { file: string; unpacked: string } {
  const file = join(folder, 'given.zip');
  const unpacked = mkdtempSync(join(folder, 'unpacked-'));
  writeFileSync(file, pack(files));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(unpacked, name)), { recursive: true });
    writeFileSync(join(unpacked, name), text);
  }
  return { file, unpacked };
}

const go = (path: string) => runOffline(goVerifier, [fixture.ledger.publicKey, path]);
const both = (files: Files) => {
  const { file, unpacked } = write(files);
  return [keywarden(file).status, go(unpacked).status];
};

test('all operations of three projects in a quarter verify offline, by keywarden and by Go', async () => {
  const bytes = await download(fixture, `/v1/exports/sealed-operations?${quarter}`);
  const file = join(folder, 'operations.zip');
  writeFileSync(file, bytes);
  const ours = keywarden(file);
  expect(ours.stdout).toMatch(
    /: proven\.\nProven:\n {2}the tree of \d+ events of test is signed with its key\n( {2}.+ \S+: \d+ operations of all 90 days from 2026-01-01 to 2026-03-31, exactly as archived\n){3}$/,
  );
  expect(ours.status).toBe(0);
  const files = unpack(bytes);
  const theirs = go(write(files).unpacked);
  expect(theirs.stdout).toMatch(
    /proven: the operations of 270 days of 3 projects from 2026-01-01 up to 2026-04-01, in the tree "test \d+"; 0 days were sealed again/,
  );
  expect(theirs.status).toBe(0);
  expect(go(file)).toMatchObject({ status: 1, stdout: expect.stringContaining('it is an archive: unpack it') });
  const changes: [string, (text: string) => string][] = [
    ['operations/00002.ndjson', (text) => text.replace('"finished"', '"failed"')],
    ['operations/00002.ndjson', (text) => text.replace(/"created_at" ?: ?"2026-02-0/, '"created_at":"2026-02-1')],
    ['operations/00003.ndjson', (text) => text.slice(text.indexOf('\n') + 1)],
    ['operations/00003.ndjson', (text) => text.slice(0, -60)],
    ['operations/00001.ndjson', (text) => text.replace('{', '{"status":"failed",')],
    ['operations/00001.ndjson', (text) => text.replace('{', '{"actor":"eve",')],
    ['operations/00001.ndjson', (text) => text.replace(/("created_at" ?: ?"[^".]+)Z"/, '$1.0000001Z"')],
    ['operations/00001.ndjson', (text) => text.replace(/("id" ?: ?"[^"-]+)-/, '$1')],
    ['operations/00001.ndjson', (text) => text.replace(/("failures_count" ?: ?)(\d+)/, '$1"$2"')],
    ['operations/00001.ndjson', (text) => text.replace(/("failures_count" ?: ?)0/, '$1-0')],
    ['seals/00001.ndjson', (text) => text.replace(/index (\d)/, 'index 1$1')],
    ['seals/00001.ndjson', (text) => `${text}${text.slice(0, text.indexOf('\n') + 1)}`],
  ];
  for (const [name, edit] of changes)
    expect(both(amend({ ...files, [name]: edit(files[name] ?? '') })), `${name} changed`).toEqual([1, 1]);
  const manifests: ((text: string) => string)[] = [
    (text) => text.replace('"from"', '"from": "2026-01-01",\n  "from"'),
    (text) => text.replace('"from"', '"From"'),
    (text) => text.replace('"to"', '"note": "complete",\n  "to"'),
    (text) => text.replace(/"sha256": "./, '"sha256": "x'),
    (text) => text.replace(/"records": \d/, '"records": 9'),
    (text) => `${text}{}`,
  ];
  for (const [index, edit] of manifests.entries())
    expect(both({ ...files, 'manifest.json': edit(files['manifest.json'] ?? '') }), `manifest ${index}`).toEqual([
      1, 1,
    ]);
  expect(both({ ...files, 'others/00001.ndjson': 'forged' })).toEqual([1, 1]);
  const seals = files['seals/00001.ndjson'] ?? '';
  expect(both(amend({ ...files, 'seals/00001.ndjson': seals.slice(seals.indexOf('\n') + 1) }))).toEqual([3, 3]);
});

test('the evidence of a quarter verifies offline, and Go agrees on each of its receipts', async () => {
  const bytes = await download(fixture, `/v1/evidence?${quarter}`);
  const file = join(folder, 'evidence.zip');
  writeFileSync(file, bytes);
  const { status, stdout } = keywarden(file);
  expect([status, stdout]).toEqual([
    3,
    expect.stringMatching(
      /: proven in part\.\nProven:\n {2}the tree of \d+ events of test is signed with its key\n {2}\d+ governance events are in the ledger/,
    ),
  ]);
  const lines = (unpack(bytes)['ledger/receipts.ndjson'] ?? '').split('\n').filter((line) => line !== '');
  expect(lines.length).toBeGreaterThan(20);
  const files = lines.map((line, index) => {
    const name = join(folder, `${index}.tlog-proof`);
    writeFileSync(name, (JSON.parse(line) as { receipt: string }).receipt);
    return name;
  });
  const theirs = runOffline(goVerifier, [fixture.ledger.publicKey, ...files]);
  expect(theirs.stdout.match(/: proven: /g)).toHaveLength(files.length);
  const whole = go(write(unpack(bytes)).unpacked);
  expect([whole.status, whole.stdout]).toEqual([3, expect.stringContaining(`proven: its ${files.length} receipts`)]);
  // Beside the receipt of its export, the whole file is proven, and no other one.
  await fixture.ledger.sign();
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const receipt = join(folder, 'export.tlog-proof');
  writeFileSync(receipt, await download(fixture, `/v1/exports/${sha256}/receipt`));
  expect(keywarden(file, receipt).status).toBe(0);
  const exported = runOffline(goVerifier, [fixture.ledger.publicKey, receipt, file]);
  expect([exported.status, exported.stdout]).toEqual([3, expect.stringContaining('the file that the report exported')]);
  const another = write(unpack(bytes)).file;
  expect([
    keywarden(another, receipt).status,
    runOffline(goVerifier, [fixture.ledger.publicKey, receipt, another]).status,
  ]).toEqual([3, 1]);
  const [first = ''] = lines;
  const altered = { ...unpack(bytes), 'ledger/receipts.ndjson': first.replace(/index (\d)/, 'index 1$1') };
  expect(go(write(altered).unpacked).status).toBe(1);
});

test('a day that was sealed again is proven with its former seal, and with both in their order only, by keywarden and by Go', async () => {
  const { store, daemon, ledger } = fixture;
  const [project] = await store.sql`select number from keywarden.project where id = 'calm-lake'`;
  const at = '2026-02-03T00:00:00.5Z';
  const late = makeWireOperation(90_000, { createdAt: at, updatedAt: at, projectId: 'calm-lake' });
  const proof = { from: '2026-02-03T00:00:00Z', isFromIncluded: true, below: '2026-02-03T00:00:01Z' };
  await saveOperationPage(daemon.sql, { project: String(project?.number), operations: [late], proof });
  await store.sql`update keywarden.operation_sealing set changed_at = changed_at - interval '1 hour' where changed <> '{}'`;
  await ledger.sign();
  const path = '/v1/exports/sealed-operations?from=2026-02-03&to=2026-02-03&project_id=calm-lake';
  const files = unpack(await download(fixture, path));
  const [first = '', second = ''] = (files['seals/00001.ndjson'] ?? '').split('\n');
  expect(both(files)).toEqual([0, 0]);
  expect(go(write(files).unpacked).stdout).toContain('1 days were sealed again');
  expect(both(amend({ ...files, 'seals/00001.ndjson': `${second}\n` }))).toEqual([3, 3]);
  expect(both(amend({ ...files, 'seals/00001.ndjson': `${second}\n${first}\n` }))).toEqual([1, 1]);
  expect(both(amend({ ...files, 'seals/00001.ndjson': `${first}\n` }))).toEqual([1, 1]);
});

test('a month that retention has dropped is not proven, and contradicts nothing, by keywarden and by Go', async () => {
  const { store, daemon, ledger } = fixture;
  await store.sql`insert into keywarden.operation_retention (keep) values ('214 days')`;
  await store.sql`
    insert into keywarden.operation_drop (month, announced_at, operations, bytes) values ('2026-01-01', now() - interval '2 days', 0, 0)`;
  await daemon.sql`select keywarden.drop_operation_month('2026-01-01', 'a test')`;
  await ledger.sign();
  const bytes = await download(fixture, `/v1/exports/sealed-operations?${quarter}`);
  expect(both(unpack(bytes))).toEqual([3, 3]);
  expect(both(amend({ ...unpack(bytes), 'retention.ndjson': '' }))).toEqual([1, 1]);
  // Operations came back, and their day was sealed again after the drop.
  await makeOperationPartitions(daemon.sql, ['2026-01']);
  const [project] = await store.sql`select number from keywarden.project where id = 'calm-lake'`;
  const at = '2026-01-04T00:00:00.5Z';
  const back = makeWireOperation(91_000, { createdAt: at, updatedAt: at, projectId: 'calm-lake' });
  await saveOperationPage(daemon.sql, { project: String(project?.number), operations: [back] });
  await store.sql`update keywarden.operation_sealing set changed_at = changed_at - interval '1 hour' where changed <> '{}'`;
  await ledger.sign();
  const again = unpack(
    await download(fixture, '/v1/exports/sealed-operations?from=2026-01-04&to=2026-01-04&project_id=calm-lake'),
  );
  expect(both(again)).toEqual([3, 3]);
  expect(both(amend({ ...again, 'operations/00001.ndjson': '' }))).toEqual([1, 1]);
});

test('a project needs no seals of days before its creation, if the seals of that day say so from the first on, by keywarden and by Go', async () => {
  const { store, daemon, ledger } = fixture;
  store.isTampered();
  const [created, deleted] = ['2026-02-03T09:00:00Z', '2026-02-05T17:00:00Z'];
  const [project] = await store.sql`
    insert into keywarden.project (control_plane_number, id, organization_id, name, created_at, updated_at, first_seen_at, last_seen_at, walked_at, missing_since, deleted_at)
    select number, 'short-life', 'acme', 'p', ${created}, now(), now(), ${deleted}, ${deleted}, ${deleted}, ${deleted} from keywarden.control_plane returning number`;
  const operation = makeWireOperation(95_000, { createdAt: created, updatedAt: created, projectId: 'short-life' });
  const proof = { from: created, isFromIncluded: true, below: '2026-02-05T17:00:01Z' };
  await saveOperationPage(daemon.sql, { project: String(project?.number), operations: [operation], proof });
  await ledger.sign();
  const request = async (to: string) =>
    unpack(await download(fixture, `/v1/exports/sealed-operations?from=2026-02-01&to=${to}&project_id=short-life`));
  const files = await request('2026-02-05');
  const { file, unpacked } = write(files);
  const ours = keywarden(file);
  expect(ours.stdout).toMatch(
    /: 1 operation of all 3 days from 2026-02-03 to 2026-02-05, exactly as archived\n.+ created at 2026-02-03T09:00:00Z, after 2026-02-01 to 2026-02-02\n$/,
  );
  expect(ours.status).toBe(0);
  const theirs = go(unpacked);
  expect([theirs.status, theirs.stdout]).toEqual([0, expect.stringContaining('2 days were before a project')]);
  // A deleted project can be restored, and an archive can leave out its later seals.
  const longer = write(await request('2026-02-08'));
  expect([keywarden(longer.file).status, go(longer.unpacked).status]).toEqual([3, 3]);
  expect(keywarden(longer.file).stdout).toContain('2026-02-06 to 2026-02-08 has no seal: it was deleted at');
  // Operations of a day before the creation have no seal.
  const [line = ''] = (files['operations/00001.ndjson'] ?? '').split('\n');
  const early = line.replaceAll('2026-02-03', '2026-02-01');
  expect(both(amend({ ...files, 'operations/00001.ndjson': `${line}\n${early}\n` }))).toEqual([3, 3]);
  const [first = '', second = '', last = ''] = (files['seals/00001.ndjson'] ?? '').split('\n');
  const only = (...seals: string[]) =>
    amend({ ...files, 'operations/00001.ndjson': '', 'seals/00001.ndjson': `${seals.join('\n')}\n` });
  expect(both(only(second, last))).toEqual([3, 3]);
  expect(both(amend({ ...files, 'seals/00001.ndjson': `${first}\n${second}\n` }))).toEqual([3, 3]);
  // An owner of the database says later that the project was created on the day after its first operations, or in another one than the seal's.
  const claim = (day: string, to: string) =>
    `[{"from":"2026-02-04T00:00:00Z","from_included":true,"reason":"not_created","to":"${to}","to_included":false},{"from":"${day}T00:00:00Z","from_included":true,"to":"2026-02-06T00:00:00Z","to_included":false}]`;
  await store.sql`
    insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps, replaces)
    select project_number, project, day, operations, root, ${claim('2026-02-04', '2026-02-04T12:00:00Z')}, gaps, number from keywarden.operation_seal
    where project_number = ${String(project?.number)} and day = '2026-02-04'
    union all
    select project_number, project, '2026-02-02', operations, root, ${claim('2026-02-02', '2026-02-09T12:00:00Z')}, gaps, null from keywarden.operation_seal
    where project_number = ${String(project?.number)} and day = '2026-02-04'`;
  await ledger.sign();
  // In the order of the ledger: the three days, and what was forged.
  const lines = ((await request('2026-02-05'))['seals/00001.ndjson'] ?? '').split('\n');
  expect(both(only(...lines.slice(1, 4)))).toEqual([3, 3]);
  const other = write(only(...lines.slice(1, 5)));
  expect([keywarden(other.file).stdout, go(other.unpacked).stdout]).toEqual([
    expect.stringContaining('2026-02-01 has no seal'),
    expect.stringContaining('0 days were before a project'),
  ]);
});

test('a seal that claims nothing, and one of another time than its recording, are not proven, by keywarden and by Go', async () => {
  const { store, ledger } = fixture;
  store.isTampered();
  const path = (day: string) => `/v1/exports/sealed-operations?from=${day}&to=${day}&project_id=bold-moon`;
  const seal = async (day: string, covered: string, at: string) => {
    await store.sql.unsafe(`
      insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps, replaces, sealed_at)
      select project_number, project, day, operations, root, ${covered}, gaps, number, ${at} from keywarden.operation_seal
      where project like '% bold-moon' and day = '${day}' order by number desc limit 1`);
    await ledger.sign();
    return unpack(await download(fixture, path(day)));
  };
  expect(both(unpack(await download(fixture, path('2026-02-10'))))).toEqual([0, 0]);
  expect(both(await seal('2026-02-10', `'[]'`, 'now()'))).toEqual([3, 3]);
  expect(both(await seal('2026-02-11', `replace(covered, 'T00', 'T06')`, 'now()'))).toEqual([3, 3]);
  expect(both(await seal('2026-02-12', 'covered', `'2026-02-14'`))).toEqual([3, 3]);
});
