import { beforeAll, expect, test } from 'vitest';
import { download, editLines, editRows, type Files, forge, linesOf, unpack } from './packs.ts';
import { packs, usePacks } from './packs-fixture.ts';

// Each field of the tables of an archive of evidence that is compared with the ledger, one by one.

usePacks();

let evidence: Files;
beforeAll(async () => {
  const { store, ledger, keys } = packs.fixture;
  // What the fixture does not have: rows of what has ended, and a revocation of a rotation.
  await store.sql`
    with granted as (
      insert into keywarden.exemption (reason, granted_by, granted_at, until, ended_at, ended_by)
      values ('ended', 'ada', now() - interval '50 minutes', now() + interval '30 days', now() - interval '20 minutes', 'bob') returning number)
    insert into keywarden.exemption_key (exemption_number, key_number) select number, ${String(keys['13'])}::bigint from granted`;
  await store.sql`
    insert into keywarden.incident (kind, scope, detail, opened_at, closed_at, closed_by, note, key_number)
    values ('orphan', '', '{"why": "closed"}', now() - interval '50 minutes', now() - interval '20 minutes', 'ada', 'seen', ${String(keys['13'])})`;
  await store.sql`
    with intended as (
      insert into keywarden.revocation_intent (rotation_number, key_number, attempt, connection, last_listing_number, judged_at)
      select number, key_number, 1, 'main', (select max(number) from keywarden.key_listing), '2026-06-01' from keywarden.rotation
      returning number)
    insert into keywarden.revocation_outcome (intent_number, outcome) select number, 'failed' from intended`;
  await store.sql`update keywarden.rotation set given_up_by = 'bob', ended_at = now()`;
  await ledger.sign();
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  evidence = unpack(await download(packs.fixture, `/v1/evidence?from=2026-05-01&to=${tomorrow}`));
});

type Row = Record<string, unknown>;

function otherValue(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (Array.isArray(value)) return [...(value as unknown[]), 'x'];
  if (typeof value === 'object' && value !== null) return { ...value, x: 1 };
  return /^\d{4}-\d\d-\d\dT/.test(String(value)) ? '2020-01-01T00:00:00Z' : `${String(value)}x`;
}

/** Changes a field of a row, or a member of it, such as `key.id`. */
function changeRow(row: Row, path: string, edit: (value: unknown) => unknown): Row {
  const [field = '', member] = path.split('.');
  const inner = (value: unknown) => (member === undefined ? edit(value) : changeRow(value as Row, member, edit));
  const value = row[field];
  return { ...row, [field]: member !== undefined && Array.isArray(value) ? value.map(inner) : inner(value) };
}

/** Lists the fields of rows that are compared; of keys, their members. */
function listCompared(rows: Row[], others: string[]): string[] {
  const paths = rows.flatMap((row) =>
    Object.entries(row).flatMap(([field, value]) => {
      if (field !== 'key' && field !== 'keys') return [field];
      return Object.keys([value].flat()[0] ?? {}).map((member) => `${field}.${member}`);
    }),
  );
  return [...new Set(paths)].filter((path) => !others.includes(path));
}

const tables = ['revocations', 'exemptions', 'incidents', 'decisions', 'rotations', 'reviewed_keys', 'reviews'];

/** What a row may say without a receipt, because it can be newer than the signed tree: that is not proven, and no contradiction. */
const claims = ['ended_at', 'closed_at', 'ended', 'given_up_by'];

test('no compared field of a row can have another value, or none', async () => {
  const honest = await packs.verify(evidence);
  expect([honest.rank, honest.words]).toEqual([1, expect.not.stringContaining('no receipt')]);
  const sentences = honest.words.matchAll(/these fields are not compared with the ledger, ([^:"]+): ([^"]+)/g);
  const uncompared = Array.from(sentences, ([, fields = '', files = '']) => ({ fields: fields.split(', '), files }));
  const compared = tables.map((table) => {
    const name = new RegExp(`-${table}\\.ndjson`);
    const [, text = ''] = Object.entries(evidence).find(([file]) => name.test(file)) ?? [];
    const others = uncompared.flatMap(({ fields, files }) => (name.test(files) ? fields : []));
    const rows = linesOf(text).map((line) => JSON.parse(line) as Row);
    return { name, paths: listCompared(rows, others) };
  });
  // One field of each table at a time.
  for (let index = 0; compared.some(({ paths }) => index < paths.length); index += 1)
    for (const edit of [otherValue, () => null]) {
      let forged = evidence;
      const changes: { path: string; name: RegExp; count: number }[] = [];
      for (const { name, paths } of compared) {
        const path = paths[index];
        if (path === undefined) continue;
        const change = { path, name, count: 0 };
        changes.push(change);
        const editRow = (row: Row) => {
          const value = row[path.split('.')[0] ?? ''];
          const mayBeNull = edit === otherValue && !claims.includes(path) && !path.includes('.');
          // The detail of an incident may change while that is open.
          if ((value === null && !mayBeNull) || (path === 'detail' && row.closed_at === null)) return row;
          const changed = changeRow(row, path, edit);
          if (JSON.stringify(changed) !== JSON.stringify(row)) change.count += 1;
          return changed;
        };
        forged = forge(new RegExp(`${name.source}$`), editRows(editRow))(forged);
      }
      const { words } = await packs.verify(forged);
      const { wrong } = (JSON.parse(words) as { verdict: { wrong: string[] } }).verdict;
      for (const { path, name, count } of changes) {
        const ofTable = name.source.includes('-reviews') ? /reviews\.ndjson|signatures/ : name;
        const found = wrong.filter((each) => ofTable.test(each.slice(0, each.indexOf(':')))).length;
        expect([name, path, found >= count, count > 0 || edit !== otherValue]).toEqual([name, path, true, true]);
      }
    }
});

test.each([
  ['revocations', { outcome: 'open', used_in_flight: false, ended_at: null }],
  ['exemptions', { ended_at: null, ended_by: null }],
  ['incidents', { closed_at: null, closed_by: null, note: null }],
  ['rotations', { given_up_by: null }],
])('what the ledger has of the end of %s is not left out of their rows unnoticed', async (table, hidden) => {
  const rows = editRows((row) => ({ ...row, ...hidden }));
  const { rank, words } = await packs.verify(forge(new RegExp(`-${table}\\.ndjson$`), rows)(evidence));
  expect([rank, words]).toEqual([2, expect.stringContaining('differs from the ledger')]);
});

test('a row that the ledger does not have is not proven; one of a time that the ledger has events of is refused', async () => {
  const invent = async (table: RegExp, change: Row) => {
    const invented = editLines((lines) => [...lines, JSON.stringify({ ...JSON.parse(lines[0] ?? ''), ...change })]);
    return await packs.verify(forge(table, invented)(evidence));
  };
  const [now, before] = [0, 3_600_000].map((ms) => new Date(Date.now() - ms).toISOString());
  for (const [table, of, time, other] of [
    [/-incidents\.ndjson$/, { id: '999', closed_at: null, closed_by: null, note: null, state: 'open' }, 'opened_at'],
    [/-revocations\.ndjson$/, { id: '999', outcome: 'open', ended_at: null, used_in_flight: false }, 'intended_at'],
    [/-decisions\.ndjson$/, { ended: null }, 'at'],
    [/-rotations\.ndjson$/, { id: 'zzzz9999', given_up_by: null }, 'opened_at'],
    [/-reviews\.ndjson$/, { id: '999', opened_at: now }, 'signed_at'],
    [/-reviewed_keys\.ndjson$/, { review_id: '999' }, 'decided_at'],
    [/-exemptions\.ndjson$/, { id: '999', ended_at: null, ended_by: null, state: 'in_force' }, 'granted_at', 1],
  ] as const) {
    const { rank, words } = await invent(table, { ...of, [time]: now });
    expect([table, rank, words]).toEqual([table, 1, expect.stringMatching(/ndjson: 1 row without a receipt/)]);
    // The time of an exemption is of the clock of its control plane.
    expect([table, (await invent(table, { ...of, [time]: before })).rank]).toEqual([table, other ?? 2]);
  }
});
