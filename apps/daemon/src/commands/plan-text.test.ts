import { makePlan, policySchema } from '@keywarden/core/policy';
import { daysAgo, makeFacts, makeKey, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import { renderPlan } from './plan-text.ts';
import { renderTable } from './table.ts';

const policy = policySchema.parse({
  rules: [
    { name: 'unused-90d', unused_for: '90d', action: 'revoke' },
    { name: 'never-used', never_used_for: '30d', action: 'revoke' },
    { name: 'old', older_than: '300d', action: 'report' },
  ],
});

const place = {
  scope: '1/organization:org-ironwood-payments-b405c95b',
  organizationId: 'org-ironwood-payments-b405c95b',
};
const facts = makeFacts([
  makeKey(1, {
    ...place,
    name: 'ci-deploy-production',
    owner: 'fatima.eriksen@company.example',
    use: usedDaysAgo(281),
  }),
  makeKey(2, { ...place, name: 'billing', kind: 'project', projectId: 'misty-tree-5c2091d2' }),
  makeKey(3, { ...place, name: 'in use', use: usedDaysAgo(0.1), owner: 'bob@company.example' }),
  makeKey(4, {
    ...place,
    name: 'exempt',
    exemptions: [{ number: '1', rules: null, reason: 'used once a year', grantedBy: 'ada', until: daysAgo(-200) }],
  }),
]);
const plan = { ...makePlan(policy, facts), isNew: true };

test.each([
  ['80 columns', 80],
  ['120 columns', 120],
  ['a pipe', Number.POSITIVE_INFINITY],
])('a plan on %s is the golden file, and no line is wider', async (name, width) => {
  const text = renderPlan(plan, width);
  await expect(`${text}\n`).toMatchFileSnapshot(`golden/plan-${name.replace(' ', '-')}.txt`);
  // Sentences around the tables wrap at the terminal.
  const rows = text.split('\n').filter((line) => !/^(Plan|Nothing was changed)/.test(line));
  expect(Math.max(...rows.map((line) => line.length))).toBeLessThanOrEqual(width);
});

test('no cell is cut: a word that is wider than the terminal has its own line', () => {
  const id = 'x'.repeat(100);
  expect(renderTable(['A', 'B'], [['short', id]], 60).split('\n')).toEqual(['A', 'short', '    b:', `      ${id}`]);
  expect(renderTable(['A', 'B'], [[id, '']], 60).split('\n')).toEqual(['A', id]);
});
