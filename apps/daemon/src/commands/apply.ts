import { createInterface } from 'node:readline/promises';
import { type PlanDocument, sha256 } from '@keywarden/core/policy';
import { exitCode, UserError, usageError } from '@keywarden/core/process';
import { readPlan } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { type Applied, applyPlan, remainingItems, whyPaused } from '../enforce/apply.ts';
import { connectionsOf, printJson, withContext } from './session.ts';
import { renderTable } from './table.ts';
import { userName } from './user.ts';

export interface ApplyOptions {
  yes?: boolean;
  json?: boolean;
}

/** Approves a stored plan and carries out exactly that, or refuses. */
export async function applyCommand(planId: string, options: ApplyOptions): Promise<number> {
  return await withContext(async (context) => {
    const document = await findDocument(context, planId);
    const remaining = await remainingItems(context, document);
    if (remaining.length === 0) {
      const why =
        document.items.length === 0
          ? 'it has no key to revoke'
          : `all its ${document.items.length} keys are revoked or gone already`;
      if (options.json) printJson({ plan_id: planId, changed: 0, done_before: document.items.length, items: [] });
      else console.log(`Plan ${planId} has nothing left to do: ${why}. Nothing was changed.`);
      return exitCode.done;
    }
    const pause = await whyPaused(context);
    if (pause !== null) throw new UserError(`Nothing is revoked: ${pause}.`, { exit: 3 });
    if (!options.yes && !(await confirm(remaining.length, planId))) {
      console.log('Nothing was changed.');
      return exitCode.done;
    }
    const connections = await connectionsOf(context);
    const approvedBy = userName();
    const applied = await applyPlan(context, { planId, document, approvedBy, connections });
    print(planId, applied, options);
    const isWhole = applied.stopped === null && applied.items.every((each) => each.outcome === 'revoked');
    return isWhole ? exitCode.done : exitCode.needsPerson;
  });
}

async function findDocument({ store }: Context, planId: string): Promise<PlanDocument> {
  const plan = await readPlan(store.db, planId);
  if (plan === undefined)
    throw usageError(`There is no plan ${planId}; make one with keywarden plan, which prints its id.`);
  if (sha256(plan.document) !== plan.sha256) {
    throw new UserError(`Plan ${planId} is not what it was when it was made; make a new one with keywarden plan.`);
  }
  // The text is what makePlan wrote: its hash says so.
  return JSON.parse(plan.document) as PlanDocument;
}

async function confirm(count: number, planId: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw usageError(
      `apply asks before it revokes, and there is no terminal to ask on; add --yes to approve plan ${planId}.`,
    );
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const keys = count === 1 ? '1 key' : `${count} keys`;
  // Ctrl-C and Ctrl-D at the prompt reject it, and mean no.
  const answer = await prompt.question(`Revoke ${keys} for good, as plan ${planId} says? Type yes: `).catch(() => 'no');
  prompt.close();
  return answer.trim() === 'yes';
}

function print(planId: string, applied: Applied, { json }: ApplyOptions): void {
  const revoked = applied.items.filter((each) => each.outcome === 'revoked').length;
  if (json) {
    const items = applied.items.map(({ item, outcome, why, usedInFlight }) => ({
      key: { scope: item.key.scope, id: item.key.id, name: item.key.name },
      outcome,
      why,
      used_in_flight: usedInFlight,
    }));
    printJson({ plan_id: planId, changed: revoked, done_before: applied.doneBefore, stopped: applied.stopped, items });
    return;
  }
  const rows = applied.items.map(({ item, outcome, why }) => [
    item.key.id,
    item.key.kind,
    item.key.name,
    outcome,
    why ?? '',
  ]);
  console.log(renderTable(['KEY', 'KIND', 'NAME', 'OUTCOME', 'WHY'], rows));
  console.log(`\n${revoked} keys revoked, ${applied.items.length - revoked} not.`);
  if (applied.stopped !== null) console.log(`The run was stopped: ${applied.stopped}.`);
}
