import { createInterface } from 'node:readline/promises';
import type { PlanItem } from '@keywarden/core/policy';
import { countOf } from '@keywarden/core/values';
import { readStanding } from '@keywarden/db/daemon';
import { exitCode, UserError, usageError } from '@keywarden/runtime';
import { usableConnections } from '../connect.ts';
import type { Context } from '../context.ts';
import { applyPlan, remainingItems } from '../enforce/apply.ts';
import { whyPaused } from '../enforce/guarded-revocation.ts';
import { approvalScope, reportBetweenMarks } from '../enforce/high-water-mark.ts';
import { readDocument } from '../enforce/plan.ts';
import { whyNotApproved } from '../enforce/standing.ts';
import { appliedToJson, renderApplied } from './applied.ts';
import { describeCommand } from './command.ts';
import { userName } from './common.ts';
import { renderTable } from './table.ts';
import { existingStore } from './with-context.ts';

export const applyCommand = describeCommand({
  name: 'apply',
  about: 'Approve exactly one plan, and revoke its keys',
  arguments: [['<plan-id>', 'the id that plan printed']],
  options: { '--yes': 'do not ask for confirmation' },
  output: 'result',
  examples: ['p-7b5742b7bdf7', 'p-7b5742b7bdf7 --yes --json'],
  needsPerson: 'some keys of the plan were not revoked, or their outcome is unknown',
  needs: existingStore,
  async run(context, planId, options) {
    const document = await readDocument(context, planId);
    const remaining = await remainingItems(context, document.items);
    const breakers = document.breakers.length;
    if (remaining.length === 0 && (document.items.length > 0 || breakers === 0)) {
      const why =
        document.items.length === 0
          ? 'it has no key to revoke'
          : document.items.length === 1
            ? 'its key is already revoked or gone'
            : `all of its ${document.items.length} keys are already revoked or gone`;
      return {
        json: { plan_id: planId, changed: 0, done_before: document.items.length, items: [] },
        text: `Plan ${planId} has nothing left to do: ${why}. Nothing was changed.`,
      };
    }
    const refusal = (await whyPaused(context)) ?? (await whyNot(context, planId));
    if (refusal !== null) throw new UserError('held', `Nothing is revoked: ${refusal}.`, { exit: 3 });
    const { why: doubt } = await approvalScope(context);
    if (doubt !== null)
      context.progress.note(`Before you apply: ${doubt}. It may lack exemptions, rejections and decisions of reviews.`);
    const question =
      remaining.length === 0
        ? { text: `Permit the keys of plan ${planId} that ${breakers} open breakers hold? Type yes: `, answer: 'yes' }
        : { text: askToRevoke(remaining, planId), answer: String(remaining.length) };
    if (!options.yes && !(await confirm(question, planId)))
      return {
        json: { plan_id: planId, changed: 0, done_before: document.items.length - remaining.length, items: [] },
        text: 'Nothing was changed.',
        code: exitCode.failed,
      };
    const { connections, failures } = await usableConnections(context);
    const approver = { via: 'command line', approvedBy: userName() } as const;
    const applied = await reportBetweenMarks(context, () =>
      applyPlan(context, { planId, items: document.items, approver, connections }),
    );
    if (applied.whyUnmarked !== null) failures.push(applied.whyUnmarked);
    const isWhole =
      failures.length === 0 && applied.stopped === null && applied.items.every((each) => each.outcome === 'revoked');
    return {
      json: { plan_id: planId, ...appliedToJson(applied), failures },
      text: [renderApplied(applied), ...failures].join('\n\n'),
      needsPerson: !isWhole,
    };
  },
});

/** Returns why a plan cannot be applied even with this person's approval. */
async function whyNot(context: Context, planId: string): Promise<string | null> {
  const { rejection, approvers, needed } = await readStanding(context.store.sql, planId);
  const persons = new Set([...approvers, userName()]);
  return rejection === null && persons.size >= needed ? null : await whyNotApproved(context, planId, 'command line');
}

/** Returns the question, with the number of keys of each organization. The answer is the number, which a person must have read. */
function askToRevoke(items: PlanItem[], planId: string): string {
  const groups = [...Map.groupBy(items, ({ key }) => key.organization_id ?? '(personal)')];
  const rows = groups.map(([organization, group]) => [
    organization,
    String(group.length),
    [...new Set(group.flatMap(({ findings }) => findings.map(({ rule }) => rule)))].join(', '),
  ]);
  return `${renderTable(['ORGANIZATION', 'KEYS', 'RULES'], rows)}\n\nPlan ${planId} permanently revokes ${countOf(items.length, 'key')}. To approve it, type the number of keys: `;
}

async function confirm({ text, answer: wanted }: { text: string; answer: string }, planId: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw usageError(
      `apply asks for confirmation and needs a terminal; add --yes to approve plan ${planId} without one.`,
    );
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D reject the prompt. Both mean no.
  const answer = await prompt.question(text).catch(() => '');
  prompt.close();
  return answer.trim() === wanted;
}
