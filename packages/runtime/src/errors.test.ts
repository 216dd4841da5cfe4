import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isStoreUnavailable } from './errors.ts';

const withCode = (code: string) => new Error('the query failed', { cause: Object.assign(new Error('x'), { code }) });

test.each([
  ['08006', true], // a node of a cluster lost its connection
  ['57P01', true],
  ['53300', true],
  ['ECONNREFUSED', true],
  ['CONNECTION_CLOSED', true],
  ['57014', false], // a statement that took too long
  ['42501', false],
  ['23505', false],
  ['XX000', false], // also a defect of the database, see isStoreFailure
])('%s means that the database does not answer: %s', (code, expected) => {
  expect(isStoreUnavailable(withCode(code))).toBe(expected);
});

test('an unexpected error is printed with where it arose, and without any line of its message', () => {
  const index = fileURLToPath(new URL('./index.ts', import.meta.url));
  const source = `import { runMain } from '${index}';
    async function readKeys() { throw new Error('parameters:\\n  at most napi_secret\\nnapi_secret'); }
    await runMain(readKeys);`;
  const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^Unexpected error \(Error\); please report it with these lines:\n\s+at .*readKeys/);
  expect(stderr).not.toContain('napi_secret');
});
