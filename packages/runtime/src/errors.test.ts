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
