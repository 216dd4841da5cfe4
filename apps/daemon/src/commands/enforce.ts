import { countOf } from '@keywarden/core/values';
import { type Enforced, enforce } from '../enforce/enforce.ts';
import { listKeysAfresh } from '../sync/keys.ts';
import { appliedToJson, renderApplied } from './applied.ts';
import { describeCommand } from './command.ts';
import { joined } from './output.ts';
import { wholeContext } from './with-context.ts';

export const enforceCommand = describeCommand({
  name: 'enforce',
  about: 'Make one pass: list, plan, notify, carry out approved plans, and revoke what is in mode: enforce',
  output: 'result',
  examples: ['', '--json'],
  needsPerson: 'an approval, an incident or a failed listing needs your attention',
  needs: wholeContext,
  async run(context) {
    const { connections, failures } = await listKeysAfresh(context);
    const enforced = await enforce(context, connections);
    if (enforced.whyUnmarked !== null) failures.push(enforced.whyUnmarked);
    return {
      json: { ...toJson(enforced), failures },
      text: joined([...render(enforced), ...failures], '\n\n'),
      needsPerson: failures.length > 0 || needsPerson(enforced),
    };
  },
});

/** Returns whether something was not done as the policy requires, and waiting will not change that. */
function needsPerson({ plan, approved, automatic, why }: Enforced): boolean {
  const scopes = new Set(plan.automatic.map(({ verdict }) => verdict.key.scope));
  const runs = [...approved, ...(automatic === null ? [] : [automatic])];
  return (
    (why !== null && scopes.size > 0) ||
    plan.document.breakers.some(({ scope }) => scopes.has(scope)) ||
    runs.some(
      ({ stopped, items }) => stopped !== null || items.some(({ outcome }) => ['failed', 'unknown'].includes(outcome)),
    )
  );
}

function toJson({ plan, announced, approved, automatic, why }: Enforced) {
  return {
    plan_id: plan.id,
    notices: announced,
    approved: approved.map(appliedToJson),
    enforced: automatic === null ? null : appliedToJson(automatic),
    why,
  };
}

function render({ plan, announced, approved, automatic, why }: Enforced): (string | false)[] {
  const waiting = [...Map.groupBy(plan.automatic, ({ waits }) => waits)].flatMap(([wait, group]) =>
    wait === null ? [] : [`Waiting, ${group.length} of ${countOf(plan.automatic.length, 'key')}: ${wait}.`],
  );
  return [
    `Plan ${plan.id}: ${countOf(plan.document.items.length, 'key')} to revoke, ${plan.document.held.length} held. Notices: ${announced.accepted} accepted, ${announced.pending} pending.`,
    ...approved.map((applied) => `Approved in the report:\n${renderApplied(applied)}`),
    automatic === null && `No key is revoked automatically: ${why}.`,
    automatic !== null && automatic.items.length > 0 && `Automatic revocations:\n${renderApplied(automatic)}`,
    waiting.length > 0 && waiting.join('\n'),
  ];
}
