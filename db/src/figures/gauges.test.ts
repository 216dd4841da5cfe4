import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { gauges } from './gauges.ts';

test('a statement returns each metric that is declared, and no other one', () => {
  const [, statements = ''] = readFileSync(new URL('gauges.ts', import.meta.url), 'utf8').split('function readGauges');
  const returned = new Set([...statements.matchAll(/'(keywarden_\w+)'/g)].map(([, name = '']) => name));
  expect([...returned].toSorted()).toEqual(Object.keys(gauges).toSorted());
});
