import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeOperationPartitions, saveOperationPage } from '@keywarden/db/daemon';
import { makeWireOperation } from '@keywarden/testkit/store/rows';
import { beforeAll, expect, test } from 'vitest';
import {
  amend,
  copyLedger,
  download,
  editLines,
  type Files,
  forge,
  leaveOutFiles,
  linesOf,
  pack,
  unpack,
  verifyBytes,
  verifyTogether,
} from './packs.ts';
import { packs, usePacks } from './packs-fixture.ts';

// What an owner of the database writes into it, and the daemon signs: the receipts are genuine, and the archive or the copy of the ledger shows what is wrong.

usePacks();
beforeAll(() => packs.fixture.store.isTampered());

const operationsOf = async (from: string, to: string): Promise<Files> =>
  unpack(await download(packs.fixture, `/v1/exports/sealed-operations?from=${from}&to=${to}&project_id=quiet-river`));

/** Verifies an archive beside a copy of the whole ledger. Returns what is found in the copy. */
async function besideCopy(files: Files) {
  const copy = mkdtempSync(join(packs.folder, 'copy-'));
  await copyLedger(packs.fixture, copy);
  const file = join(packs.folder, 'beside.zip');
  writeFileSync(file, pack(files));
  return (await verifyTogether([copy, file], [packs.fixture.ledger.publicKey]))[0];
}

/** Inserts a seal of days of a project behind the newest one, with other columns. */
async function insertSeals(day: string, columns: string): Promise<void> {
  await packs.fixture.store.sql.unsafe(`
    insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps, replaces)
    select ${columns} from (select distinct on (day) * from keywarden.operation_seal where project like '% quiet-river' and day = '${day}'
      order by day, number desc) newest`);
  await packs.fixture.ledger.sign();
}

test('a CSV file of an archive of evidence has the rows and columns of the table beside it', async () => {
  const { evidence } = packs;
  const honest = await packs.verify(evidence);
  expect(honest.words).toMatch(/[1-9]\d CSV files have exactly the rows of the tables beside them/);
  const withoutColumn = (text: string) => text.replaceAll(/^[^,\r\n]*,/gm, '');
  for (const edit of [
    (text: string) => text.replace('breaker', 'orphan'),
    (text: string) => text.replace(/\n.*\r\n$/, '\n'),
    (text: string) => text.replace('id', 'number'),
    withoutColumn,
  ]) {
    const { rank, words } = await packs.verify(forge(/-incidents\.csv$/, edit)(evidence));
    expect([rank, words]).toEqual([
      2,
      expect.stringMatching(/-incidents\.csv does not have the rows of .+-incidents\.ndjson/),
    ]);
  }
});

test('without its receipts nothing in an archive is proven', async () => {
  const { rank, words } = await packs.verify(leaveOutFiles(packs.evidence, /^ledger\//));
  expect([rank, JSON.parse(words).verdict.proven]).toEqual([1, []]);
});

test('the detail of an incident may be newer than the signed tree while the incident is open, and not after it was closed', async () => {
  const { store, ledger } = packs.fixture;
  await store.sql`
    insert into keywarden.incident (kind, scope, detail, opened_at, closed_at, closed_by, note)
    values ('orphan', 'closed', '{"why": "it was never used"}', now() - interval '30 minutes', now() - interval '20 minutes', 'ada', 'seen')`;
  const later = new Date(Date.now() - 15 * 60_000).toISOString();
  await ledger.sign();
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const evidence = unpack(await download(packs.fixture, `/v1/evidence?from=2026-05-01&to=${tomorrow}`));
  const forged = async (from: string | RegExp, to = 'nothing happened') =>
    await packs.verify(forge(/-incidents\.ndjson$/, (text) => text.replace(from, to))(evidence));
  expect(await forged('a test')).toMatchObject({ rank: 1, words: expect.stringContaining('without a receipt') });
  expect(await forged('it was never used')).toMatchObject({ rank: 2, words: expect.stringContaining('in detail') });
  // A later end, which the tree would have.
  expect(await forged(/"closed_at" ?: ?"[^"]+"/, `"closed_at":"${later}"`)).toMatchObject({
    rank: 2,
    words: expect.stringContaining('in closed_at'),
  });
});

test('an incident that was open in the period, and opened before it, is not left out of its table unnoticed', async () => {
  const { store, ledger } = packs.fixture;
  await store.sql`
    insert into keywarden.incident (kind, scope, detail, opened_at, closed_at, closed_by, note)
    select 'orphan', note, '{}', now() - interval '50 minutes', now() - ended, 'ada', note
    from (values ('within', interval '20 minutes'), ('before', interval '40 minutes')) v(note, ended)`;
  await ledger.sign();
  const [from, to] = [-30, 1440].map((minutes) => new Date(Date.now() + minutes * 60_000).toISOString());
  const evidence = unpack(await download(packs.fixture, `/v1/evidence?from=${from}&to=${to}`));
  const honest = await packs.verify(evidence);
  expect([honest.rank, honest.words]).toEqual([1, expect.not.stringContaining('has no row')]);
  const without = editLines((lines) => lines.filter((line) => !line.includes('within')));
  const { rank, words } = await packs.verify(forge(/-incidents\.ndjson$/, without)(evidence));
  expect([rank, words]).toEqual([1, expect.stringContaining('which the ledger has in the period from before it')]);
});

test('a seal that neither covers its day nor names gaps claims nothing, and the day is not proven', async () => {
  const honest = await packs.verify(await operationsOf('2026-05-21', '2026-05-21'));
  expect([honest.rank, honest.words]).toEqual([1, expect.stringContaining('did not claim to have everything')]);
  await insertSeals('2026-05-21', `project_number, project, day, operations, root, '[]', '[]', number`);
  const forged = await packs.verify(await operationsOf('2026-05-21', '2026-05-21'));
  expect([forged.rank, forged.words]).toEqual([
    1,
    expect.stringContaining('the seal of 2026-05-21 says nothing about 2026-05-21T00:00:00Z to 2026-05-22T00:00:00Z'),
  ]);
  // One instant of the day.
  const noon = '2026-05-22T12:00:00Z';
  const part = (from: string, to: string, isFirst: boolean) =>
    `{"from":"${from}","from_included":${isFirst},"to":"${to}","to_included":false}`;
  const covered = `[${part('2026-05-22T00:00:00Z', noon, true)},${part(noon, '2026-05-23T00:00:00Z', false)}]`;
  await insertSeals('2026-05-22', `project_number, project, day, operations, root, '${covered}', '[]', number`);
  const instant = await packs.verify(await operationsOf('2026-05-22', '2026-05-22'));
  expect([instant.rank, instant.words]).toEqual([1, expect.stringContaining(`says nothing about ${noon} to ${noon}`)]);
});

test('operations that came back after a drop of retention cannot be hidden as dropped', async () => {
  const { store, daemon, ledger } = packs.fixture;
  await store.sql`insert into keywarden.operation_retention (keep) values ('214 days')`;
  await makeOperationPartitions(daemon.sql, ['2025-03']);
  const [project] = await store.sql`
    insert into keywarden.project (control_plane_number, id, organization_id, name, created_at, updated_at, first_seen_at, last_seen_at, walked_at)
    select number, 'late-lake', 'acme', 'p', '2025-03-01', now(), now(), '2025-03-05', '2025-03-05' from keywarden.control_plane returning number`;
  const save = async (...days: string[]) => {
    await saveOperationPage(daemon.sql, {
      project: String(project?.number),
      operations: days.map((day, seed) => makeWireOperation(seed, { createdAt: `2025-03-${day}T00:00:00Z` })),
      proof: { from: '2025-03-01T00:00:00Z', isFromIncluded: true, below: '2025-03-05T00:00:00Z' },
    });
  };
  await save('02', '03');
  await ledger.sign();
  await store.sql`
    insert into keywarden.operation_drop (month, announced_at, operations, bytes) values ('2025-03-01', now() - interval '2 days', 0, 0)`;
  await daemon.sql`select keywarden.drop_operation_month('2025-03-01', 'a test')`;
  await ledger.sign();
  await makeOperationPartitions(daemon.sql, ['2025-03']);
  await save('02');
  await store.sql`update keywarden.operation_sealing set changed_at = changed_at - interval '1 hour'`;
  await ledger.sign();
  const path = '/v1/exports/sealed-operations?from=2025-03-02&to=2025-03-02&project_id=late-lake';
  const whole = unpack(await download(packs.fixture, path));
  expect((await packs.verify(whole)).rank).toBe(0);
  // The month is announced again, because its rows are over the retention; the former drop stays in the ledger.
  const month = '/v1/exports/sealed-operations?from=2025-03-02&to=2025-03-04&project_id=late-lake';
  const before = await packs.verify(unpack(await download(packs.fixture, month)));
  await store.sql`select keywarden.announce_operation_drops()`;
  await ledger.sign();
  const announced = await packs.verify(unpack(await download(packs.fixture, month)));
  expect(announced.rank).toBe(before.rank);
  expect(announced.words).toContain('retention has dropped the operations of 2025-03-03');
  const hidden = await packs.verify(amend({ ...whole, 'operations/00001.ndjson': '' }));
  expect([hidden.rank, hidden.words]).toEqual([2, expect.stringContaining('are not those that were sealed (1)')]);
});

test('a seal that an archive leaves out with its operations is named beside a copy of the ledger', async () => {
  const withoutDay = (files: Files) =>
    amend({
      ...files,
      'seals/00001.ndjson': editLines((lines) => lines.slice(0, -1))(files['seals/00001.ndjson'] ?? ''),
      'operations/00001.ndjson': editLines((lines) => lines.filter((line) => !line.includes('2026-05-03')))(
        files['operations/00001.ndjson'] ?? '',
      ),
    });
  const whole = await operationsOf('2026-05-01', '2026-05-03');
  expect(linesOf(whole['seals/00001.ndjson'] ?? '')).toHaveLength(3);
  expect((await besideCopy(whole))?.words).toContain('none of its days has a newer seal');
  const cut = await besideCopy(withoutDay(whole));
  expect(cut?.words).toMatch(/beside\.zip: it leaves out the seal of .+ quiet-river 2026-05-03; its maker must show/);
  expect(cut?.words).not.toContain('none of its days has a newer seal');
});

test('a second history of a project under its name is found in a copy of the ledger', async () => {
  const archive = await operationsOf('2026-05-01', '2026-05-03');
  expect((await besideCopy(archive))?.rank).toBe(0);
  await insertSeals(
    '2026-05-02',
    `project_number + 1000000, project, day, 0, repeat('0', 64), '[]', '[]', null::bigint`,
  );
  expect(await besideCopy(archive)).toMatchObject({
    rank: 2,
    words: expect.stringMatching(
      /event \d+ is a seal of .+ quiet-river 2026-05-02 that does not follow the seal before/,
    ),
  });
});

test('a receipt of a row whose time is not that of its recording does not prove that time, and neither does a copy', async () => {
  const { store, ledger, planId } = packs.fixture;
  const receiptOf = async () => {
    const { body } = await packs.fixture.ask('/v1/ledger/events?type=plan.approved', { as: 'auditor' });
    const path = `/v1/ledger/events/${String(body.items[0]?.number)}/receipt`;
    const { text } = await packs.fixture.ask(path, { as: 'auditor' });
    return await verifyBytes(packs.folder, text, ledger.publicKey);
  };
  expect((await receiptOf()).rank).toBe(0);
  expect((await besideCopy(packs.operations))?.words).not.toContain('the time of ');
  await store.sql`
    insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at) values (${planId}, 'ciso', 'report', '2026-05-02T09:00:00Z')`;
  await ledger.sign();
  expect(await receiptOf()).toMatchObject({ rank: 1, words: expect.stringContaining('not recorded within an hour') });
  const late =
    /the time of plan_approval\/\d+: 2026-05-02T09:00:00Z, because the ledger recorded its plan\.approved at 2\S+, as event \d+/;
  expect((await besideCopy(packs.operations))?.words).toMatch(late);
  const evidence = unpack(await download(packs.fixture, '/v1/evidence?from=2026-05-01&to=2026-05-10'));
  expect((await packs.verify(evidence)).words).toMatch(late);
});
