import { makeWireOperation } from '@keywarden/testkit/store/rows';
import { createSealing, day, noon, proofOf, type Sealing } from '@keywarden/testkit/store/sealing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveOperationPage } from '../daemon.ts';

// A malformed seal is signed like any other, and no verifier accepts an archive that has it.

let sealing: Sealing;
let project: string;
beforeAll(async () => {
  sealing = await createSealing(inject('postgresUrl'));
  project = await sealing.makeWalked(6);
  await saveOperationPage(sealing.daemon.sql, {
    project,
    operations: [makeWireOperation(noon(2))],
    proof: proofOf(2, 3),
  });
  await sealing.seal();
});
afterAll(async () => await sealing.store.close());

/** Seals a day again as the login of the daemon, like its newest seal but for some columns. */
const sealAgain = async (changes: Record<string, string>, of = day(4)) => {
  const columns = [
    'number',
    'project_number',
    'project',
    'day',
    'operations',
    'root',
    'covered',
    'gaps',
    'replaces',
    'sealed_at',
  ];
  const values = { number: 'number + 1000', replaces: 'number', sealed_at: 'clock_timestamp()', ...changes };
  await sealing.daemon.sql.unsafe(`
    insert into keywarden.operation_seal (${columns.join(', ')}) overriding system value
    select ${columns.map((name) => new Map(Object.entries(values)).get(name) ?? name).join(', ')} from keywarden.operation_seal
    where project_number = ${project} and day = '${of}' order by number desc limit 1`);
};
const interval = (from: string, to: string, reason = '"reason":"gap",') =>
  `'[{"from":"${from}","from_included":true,${reason}"to":"${to}","to_included":false}]'`;
const noDay = '2026-05-04T25:00:00Z';

test.each<Record<string, string>>([
  { number: '0' },
  { project: `'quiet-river'` },
  { operations: '-1' },
  { operations: '1000000000000000' },
  { root: `'x'` },
  { root: 'upper(root)' },
  { day: `'2099-01-01'`, replaces: 'null', covered: `'[]'`, gaps: `'[]'` },
  { sealed_at: `'2026-05-04'` },
  { replaces: 'null' },
  { replaces: 'number - 1' },
  { replaces: 'number + 1000' },
  { covered: `'none'` },
  { covered: `'[ ]'` },
  { covered: `'[,]'` },
  { covered: `rtrim(gaps, ']') || ',]'` },
  { covered: interval('2026-05-04T00:00:00Z', '2026-05-04T01:00:00Z') },
  { gaps: 'null' },
  { gaps: `gaps || ' '` },
  { gaps: interval('2026-05-04T00:00:00Z', noDay) },
  { gaps: interval('2026-05-03T00:00:00Z', '2026-05-04T01:00:00Z') },
  { gaps: interval('2026-05-04T00:00:00Z', '2026-05-05T00:00:01Z') },
  { gaps: interval('2026-05-04T00:00:00.50Z', '2026-05-04T01:00:00Z') },
  { gaps: interval('2026-05-04T00:00:00Z', '2026-05-04T01:00:00Z', '"other":1,') },
  { gaps: interval('2026-05-04T00:00:00Z', '2026-05-04T01:00:00Z', '"reason":"",') },
])('a login of the daemon stores no malformed seal: %j', async (changes) => {
  await expect(sealAgain(changes)).rejects.toMatchObject({ code: expect.stringMatching(/^(23514|23502)$/) });
});

test('a login of the daemon seals a day again', async () => {
  const gaps = interval('2026-05-04T00:00:00Z', '2026-05-04T01:00:00.5Z').replace(
    /\]'$/,
    `,${interval('2026-05-04T02:00:00Z', '2026-05-05T00:00:00Z', '').slice(2)}`,
  );
  const covered = interval('2026-05-04T00:00:00Z', '2026-05-04T00:00:00Z', '"reason":"not_created",');
  await sealAgain({ gaps, covered });
  await sealAgain({ gaps: `'[]'`, root: `repeat('0', 64)`, operations: '5' }, day(2));
  expect((await sealing.sealsOf(project)).filter(({ replaces }) => replaces !== null)).toHaveLength(2);
});
