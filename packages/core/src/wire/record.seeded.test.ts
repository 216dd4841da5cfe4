import { sized } from '@keywarden/testkit';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { listOf, mostDepth } from './record.ts';
import { keySchema, operationSchema } from './schemas.ts';

const good = {
  id: '0b6c0c4e-8e5a-4b5e-a1b1-1f0c7f0e0001',
  project_id: 'p',
  action: 'start_compute',
  status: 'finished',
  failures_count: 0,
  created_at: '2026-01-01T00:00:00.123456Z',
  updated_at: '2026-01-01T00:00:00Z',
};

/** A valid row with some of its fields, known or unknown, replaced by arbitrary values. */
const anyRow = fc
  .dictionary(
    fc.oneof(fc.constantFrom(...Object.keys(good), 'branch_id', 'error', 'retry_at', 'total_duration_ms'), fc.string()),
    fc.oneof(fc.constant(null), fc.constant(good.created_at), fc.nat(), fc.jsonValue()),
    { maxKeys: 2 },
  )
  .map((change) => ({ ...good, ...change }));

test('the fast path through a list gives the same result as zod, for any rows', () => {
  const whole = z.array(operationSchema);
  let passed = 0;
  const runs = sized(1000);
  fc.assert(
    fc.property(fc.oneof(fc.array(anyRow, { maxLength: 3 }), fc.jsonValue()), (rows) => {
      const [short, long] = [listOf(operationSchema).safeParse(rows), whole.safeParse(rows)];
      passed += Number(long.success);
      expect(short.data).toEqual(long.data);
      expect(short.error?.issues[0]?.path).toEqual(long.error?.issues[0]?.path);
    }),
    { numRuns: runs },
  );
  expect(passed).toBeGreaterThan(runs / 10);
});

test('the zero time of a last use is no use', () => {
  const row = { id: 1, name: 'bot', created_at: good.created_at, last_used_at: '0001-01-01T00:00:00Z' };
  expect(keySchema.parse(row)).toMatchObject({ lastUsedAt: null });
});

test('a row of a list keeps its optional and its unknown fields; a prototype is none of them, and a deep one refuses the list', () => {
  const optional = { branch_id: 'b', endpoint_id: 'e', error: 'x', retry_at: good.created_at, total_duration_ms: 7 };
  const [row] = listOf(operationSchema).parse([{ ...good, ...optional, branch: null, later: [1] }]);
  expect(row).toMatchObject({
    branchId: 'b',
    endpointId: 'e',
    error: 'x',
    retryAt: good.created_at,
    totalDurationMs: 7,
  });
  expect(row?.extra).toEqual({ branch: null, later: [1] });
  const [bare] = listOf(operationSchema).parse([{ ...good, branch_id: null }]);
  expect([bare?.branchId, bare?.extra]).toEqual([undefined, null]);
  const text = JSON.stringify(good).replace('{', '{"__proto__":{"x":1},');
  expect(listOf(operationSchema).parse([JSON.parse(text)])[0]?.extra).toBeNull();
  expect(listOf(operationSchema).safeParse([{ ...good, failures_count: 2 ** 53 }]).success).toBe(false);
  let deep: unknown = 1;
  for (let depth = 0; depth < mostDepth; depth += 1) deep = [deep];
  const { error } = listOf(operationSchema).safeParse([good, { ...good, flat: 1, deep }]);
  expect(error?.issues.map(({ path, message }) => [path, message])).toEqual([
    [[1], 'its unknown fields are nested too deep'],
  ]);
});
