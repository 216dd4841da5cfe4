import { expect, test } from 'vitest';
import { createDayHasher } from './seal.ts';

const line = JSON.stringify({
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
});
const hash = (extra: string) => createDayHasher('quiet-river', () => 1).add(line.replace('{}', extra));

test('an operation with any object has a hash', () => {
  for (const extra of ['{}', '{"a": [1, "b}"], "c": {"d": null}}', `{"a":${'['.repeat(9000)}${']'.repeat(9000)}}`])
    expect(() => hash(extra)).not.toThrow();
});

test.each(['{"a":[1,"b"]"b"]}', '{"a":}', '{"a":1,}', '{a:1}', '{"a":01}', '{"a":NaN}', '{"a":]}', '{"a":"\t"}'])(
  'an operation with %s, which is no JSON, has none',
  (extra) => expect(() => hash(extra)).toThrow(TypeError),
);
