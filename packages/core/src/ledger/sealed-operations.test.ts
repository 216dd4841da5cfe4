import { expect, test } from 'vitest';
import { createDayHasher } from './seal.ts';

const operation = {
  id: '00000000-0000-4000-8000-000000000001',
  project_id: 'quiet-river',
  branch_id: null,
  endpoint_id: null,
  action: 'start',
  status: 'done',
  failures_count: 0,
  error: null,
  retry_at: null,
  created_at: '2026-05-01T00:00:01Z',
  updated_at: '2026-05-01T00:00:02Z',
  total_duration_ms: null,
  extra: {},
  seen_at: '2026-05-01T00:00:03Z',
};
const line = JSON.stringify(operation);
const hash = (extra: string) => createDayHasher('quiet-river', () => 1).add(line.replace('{}', extra));

test('an operation with any object has a hash', () => {
  for (const extra of ['{}', '{"a": [1, "b}"], "c": {"d": null}}', `{"a":${'['.repeat(9000)}${']'.repeat(9000)}}`])
    expect(() => hash(extra)).not.toThrow();
});

test.each(['{"a":[1,"b"]"b"]}', '{"a":}', '{"a":1,}', '{a:1}', '{"a":01}', '{"a":NaN}', '{"a":]}', '{"a":"\t"}'])(
  'an operation with %s, which is no JSON, has none',
  (extra) => expect(() => hash(extra)).toThrow(TypeError),
);

const changed = (change: object) => JSON.stringify({ ...operation, ...change });
const many = '9'.repeat(20);
const notALine = 'it is no line of an export of operations';
/** An operation whose last member is an object. */
const objectLast = changed({ extra: undefined }).replace(/}$/, ',"extra":{}}');

test.each([
  [changed({ id: 'none' }), 'none is no id'],
  [changed({ action: undefined }), 'it has no action'],
  [line.replace('"start"', String.raw`"\ud800"`), 'a text has half a character'],
  [line.replace('"failures_count":0', `"failures_count":${many}`), `${many} is no whole number`],
  [changed({ failures_count: '0' }), 'its failures_count is no number'],
  [changed({ updated_at: '2026-02-30T00:00:00Z' }), '2026-02-30T00:00:00Z is no time'],
  [changed({ updated_at: '2026-05-01T00:00:02+00:00' }), '2026-05-01T00:00:02+00:00 is no time'],
  [changed({ project_id: 'other' }), 'an operation is of another project'],
  [changed({ owner: 'ada' }), 'seals do not prove the field owner'],
  [line.replace('{', '{"id":null,'), 'it has id twice'],
  [changed({ created_at: '2026-04-30T00:00:01Z' }), 'it has operations of 2026-04-30, outside its period'],
  [line.slice(1), notALine],
  [line.slice(0, -1), notALine],
  [objectLast.slice(0, -1), notALine],
  [objectLast.replace('{}}', '{'), notALine],
  [objectLast.replace('{}', '[]'), notALine],
  [`${line} `, notALine],
])('the line %s is refused: %s', (text, why) => {
  const hasher = createDayHasher('quiet-river', (day) => (day === '2026-05-01' ? 1 : null));
  expect(() => hasher.add(text)).toThrow(new TypeError(why));
  expect(() => createDayHasher('quiet-river', () => 1).add(objectLast)).not.toThrow();
});

test.each([
  ['2026-05-03', 'the operations of 2026-05-03 come after those of 2026-05-02'],
  ['2026-05-02', 'it has more than the 1 operations of 2026-05-02 that were sealed'],
])('days are newest first, and none has more operations than its seal: after 2026-05-02, not %s', (day, why) => {
  const hasher = createDayHasher('quiet-river', () => 1);
  hasher.add(changed({ created_at: '2026-05-02T00:00:01Z' }));
  expect(() => hasher.add(changed({ created_at: `${day}T00:00:01Z` }))).toThrow(new TypeError(why));
});
