import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { codeOf, isStoreUnavailable } from './errors.ts';

const withCode = (code: string) => new Error('the query failed', { cause: Object.assign(new Error('x'), { code }) });

test.each([
  ['08006', true], // a node of a cluster lost its connection
  ['57P01', true],
  ['53300', true],
  ['ECONNREFUSED', true],
  ['CONNECTION_CLOSED', true],
  ['28P01', true], // the password of the login was changed, or has expired
  ['28000', true],
  ['3D000', true], // the database was renamed, as during a restore
  ['ENOTFOUND', true], // its name was not resolved
  ['EAI_AGAIN', true],
  ['EHOSTUNREACH', true],
  ['ETIMEDOUT', true],
  ['57014', false], // a statement that took too long
  ['42501', false],
  ['23505', false],
  ['XX000', false], // also a defect of the database, see isStoreFailure
])('%s means that the database does not answer: %s', (code, expected) => {
  expect(isStoreUnavailable(withCode(code))).toBe(expected);
});

test('a copy of an error, as a library passes it on, has its code', () => {
  expect(codeOf({ code: '57P01', message: 'x' })).toBe('57P01');
  expect([codeOf({}), codeOf(null), codeOf('x')]).toEqual(['unknown', 'unknown', 'unknown']);
});

const index = fileURLToPath(new URL('./index.ts', import.meta.url));
/** Runs an entry point of this source in a process of its own. */
const runInProcess = (source: string) =>
  spawnSync(process.execPath, ['--input-type=module', '-e', `import { runMain } from '${index}'; ${source}`], {
    encoding: 'utf8',
  });

test('a database whose disk is full ends a command with one sentence, and not as a bug', () => {
  const { stderr, status } = runInProcess(`
    await runMain(async () => { throw new Error('the query failed', { cause: Object.assign(new Error('x'), { code: '53100' }) }); });`);
  expect(status).toBe(1);
  expect(stderr).toBe('The database cannot do this (53100): its disk is full. Correct that, then try again.\n');
});

test.runIf(existsSync('/dev/full'))('a full disk ends a command with one sentence, and not as a bug', () => {
  const { stderr, status } = runInProcess(`
    import { writeFileSync } from 'node:fs';
    await runMain(async () => { writeFileSync('/dev/full', 'a mark'); return 0; });`);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^A file cannot be written \(ENOSPC\), because the disk of KEYWARDEN_DATA .*\n$/);
});

test('an unexpected error is printed with where it arose, and without any line of its message', () => {
  const { stderr, status } = runInProcess(`
    async function readKeys() { throw new Error('parameters:\\n  at most napi_secret\\nnapi_secret'); }
    await runMain(readKeys);`);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^Unexpected error \(Error\); please report it with these lines:\n\s+at .*readKeys/);
  expect(stderr).not.toContain('napi_secret');
});
