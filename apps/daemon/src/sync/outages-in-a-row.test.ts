import { ControlPlaneError } from '@keywarden/core/client';
import { createLogger } from '@keywarden/runtime';
import { expect, test } from 'vitest';
import type { Context } from '../context.ts';
import { eachProject, isOfOneProject } from './failures.ts';

const log = createLogger('test', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' });
const outage = new ControlPlaneError('unavailable', 'down');
const refusal = new ControlPlaneError('forbidden', 'refused');
const four = [outage, outage, outage, outage];

test.each([
  ['five in a row end it', [...four, outage, null], outage],
  ['a project that is read separates them', [...four, null, ...four], 8],
  ['a refusal separates them', [...four, refusal, ...four], 9],
])('R7: outages of projects end a pass only in a row: %s', async (_what, ends, end) => {
  // eachProject uses nothing else of it.
  const context = { signal: new AbortController().signal, log } as Context;
  const pass = eachProject(context, [...ends.keys()], {
    idOf: String,
    async work(index) {
      await Promise.resolve();
      if (ends[index]) throw ends[index];
    },
    isOfOne: isOfOneProject,
    onDone: () => undefined,
  });
  const ended: unknown = await pass.then(
    ({ length }) => length,
    (error: unknown) => error,
  );
  expect(ended).toBe(end);
});
