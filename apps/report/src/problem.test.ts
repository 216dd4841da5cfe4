import { expect, test } from 'vitest';
import { z } from 'zod';
import { issueInWords, toProblem } from './problem.ts';

const form = z.strictObject({
  title: z.string().min(1).max(200),
  reason: z.string().min(5),
  days: z.array(z.number()).min(1).max(10),
  limit: z.number().min(1).max(1000),
  decision: z.enum(['keep', 'revoke']),
  sure: z.literal('on', { error: 'confirm it with the box' }),
});
const valid = { title: 'x', reason: 'in use', days: [7], limit: 5, decision: 'keep', sure: 'on' };

test.each<[object, string]>([
  [{ title: '' }, 'title: must not be empty'],
  [{ title: 'x'.repeat(201) }, 'title: must have a length of at most 200'],
  [{ title: undefined }, 'title: is missing'],
  [{ reason: 'why' }, 'reason: must have a length of 5 or more'],
  [{ days: [] }, 'days: must not be empty'],
  [{ days: [1, Number.NaN] }, 'days.1: must be of the type number'],
  [{ days: Array.from({ length: 11 }, () => 1) }, 'days: must have a number of items of at most 10'],
  [{ limit: 0 }, 'limit: must be 1 or more'],
  [{ limit: 1001 }, 'limit: must be at most 1000'],
  [{ decision: 'keeps' }, 'decision: must be one of keep, revoke'],
  [{ sure: '' }, 'sure: confirm it with the box'],
  [{ colour: 1 }, 'colour: is not a parameter here'],
])('%j is refused in words for people', (change, words) => {
  const { error } = form.safeParse({ ...valid, ...change });
  expect(error && issueInWords(error)).toBe(words);
});

test.each(['53100', '53200', '53400', '55P03', '58030'])(
  'a store that lacks space, memory or time is no defect of the report: %s',
  (code) => {
    const error = new Error('the query failed', { cause: Object.assign(new Error('x'), { code }) });
    expect(toProblem(error)).toMatchObject({ status: 503, message: expect.stringContaining('too little space') });
  },
);

test('a store that is read-only is not said to be silent', () => {
  const error = new Error('the query failed', { cause: Object.assign(new Error('x'), { code: '25006' }) });
  expect(toProblem(error)).toMatchObject({ status: 503, message: expect.stringContaining('is read-only') });
});

test.each([
  ['KW002', 401],
  ['KW003', 403],
  ['KW004', 404],
  ['22P02', 400],
  ['57014', 503],
  ['42501', 500],
])('what the store says with %s is answered with %i, and shows nothing of the statement', (code, status) => {
  const error = new Error('select secret', { cause: Object.assign(new Error('select secret'), { code }) });
  const { message, ...problem } = toProblem(error);
  expect([problem.status, message]).toEqual([status, expect.not.stringContaining('secret')]);
});
