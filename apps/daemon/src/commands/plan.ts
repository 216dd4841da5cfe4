import type { Plan } from '@keywarden/core/policy';
import { countOf } from '@keywarden/core/values';
import { choosePart, derivePlan } from '@keywarden/db/daemon';
import { printError, usageError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { clockInWords, isClockTrusted } from '../control-plane-clock.ts';
import { planKeys } from '../enforce/plan.ts';
import { listKeysAfresh } from '../sync/keys.ts';
import { describeCommand } from './command.ts';
import { requireOrganization, requireRules } from './common.ts';
import { joined } from './output.ts';
import { describePlan, renderPlan, renderPlanRows } from './plan-text.ts';
import { wholeContext } from './with-context.ts';

interface PlanOptions {
  organization?: string;
  review?: string;
  rule?: string;
  key?: string[];
}

export const planCommand = describeCommand({
  name: 'plan',
  about: 'Judge the keys by the policy, and print and store the plan; this revokes nothing',
  options: {
    '--organization <id>': 'make the part of the plan with the keys of this organization',
    '--review <number>': 'make the part with the keys that this signed access review decided to revoke',
    '--rule <name>': 'make the part with the keys that this rule flags',
    '--key <key...>':
      'make the part with these keys of the plan, by their ids, as SCOPE/ID, or by their numbers in the store',
  },
  output: 'list',
  examples: ['', '--organization org-quiet-river-1', '--review 3', '--json > plan.json'],
  needsPerson: 'some keys could not be listed, so the plan is partial',
  needs: wholeContext,
  async run(context, options) {
    const { connections, failures } = await listKeysAfresh(context);
    const whole = await planKeys(context, connections);
    const plan = isPart(options) ? await takePart(context, whole, options) : whole;
    const warnings = [...failures, ...describeBlindSpots(context, connections, plan)];
    if (options.output === 'csv') for (const warning of warnings) printError(warning);
    return {
      json: { plan_id: plan.id, sha256: plan.sha256, is_new: plan.isNew, warnings, ...describePlan(plan) },
      text: options.output === 'csv' ? renderPlanRows(plan) : [renderPlan(plan), ...warnings].join('\n\n'),
      needsPerson: failures.length > 0,
    };
  },
});

const isPart = ({ organization, review, rule, key }: PlanOptions) =>
  [organization, review, rule, key].some((each) => each !== undefined);

/** Stores the part of a plan that has only the chosen keys, and returns it as a plan. Throws a UserError if the plan has none of them. */
async function takePart<T extends Plan>(
  { store, config }: Context,
  whole: T,
  { organization, review, rule, key: keys }: PlanOptions,
): Promise<T> {
  if (organization !== undefined) await requireOrganization(store.db, organization);
  if (rule !== undefined) requireRules(config.policy, [rule]);
  const numbersOfKeys = keys?.map((text) => numberOf(whole, text));
  const chosen = await choosePart(store.db, whole.id, {
    organizationId: organization,
    reviewId: review,
    rule,
    keys: numbersOfKeys,
  });
  const part = chosen.length === 0 ? null : await derivePlan(store.sql, { plan: whole.id, keys: chosen });
  if (part === null)
    throw usageError(
      `Plan ${whole.id} would revoke no key that matches; run keywarden plan without options to see its keys.`,
    );
  const numbers = new Set(chosen);
  const items = whole.document.items.filter(({ key }) => numbers.has(key.number));
  const automatic = whole.automatic.filter(({ verdict }) => numbers.has(verdict.key.number));
  return { ...whole, ...part, document: { ...whole.document, items, held: [], reported: [], breakers: [] }, automatic };
}

/**
 * Returns the number of the key of a plan that a text names: by its id, which tables show as KEY, by SCOPE/ID, or by its number. Throws a UserError if it
 * names none, or two: a part with another key than the one that was meant could be approved.
 */
function numberOf({ id: plan, document: { items } }: Plan, text: string): string {
  const inFull = ({ scope, id }: (typeof items)[number]['key']) => `${scope}/${id}`;
  const named = items.filter(({ key }) => [key.id, key.number, inFull(key)].includes(text));
  const [found] = named;
  if (found === undefined)
    throw usageError(
      `Plan ${plan} would not revoke a key ${text}; run keywarden plan without options to see its keys.`,
    );
  if (named.length > 1) {
    const names = named.map(({ key }) => `${inFull(key)} (number ${key.number}, ${key.name})`);
    throw usageError(
      `${text} is the id or the number of several keys of plan ${plan}; specify one of ${names.join(', ')}.`,
    );
  }
  return found.key.number;
}

function describeBlindSpots({ config }: Context, connections: Connection[], { document }: Plan): string[] {
  const clocks = connections
    .filter((connection) => !isClockTrusted(config.policy, connection))
    .map(
      ({ name, skewMs }) =>
        `No key of connection ${name} was judged: ${clockInWords("the control plane's", skewMs)}, more than max_clock_skew; correct the clock that is wrong.`,
    );
  const personal = document.blind_spots.filter(({ kind }) => kind === 'personal_keys');
  const members = personal.reduce((sum, spot) => sum + (spot.members ?? 0), 0);
  const unlisted = personal.filter((spot) => spot.members === null).length;
  const others = [
    members > 0 && `those of ${countOf(members, 'member')} of ${countOf(personal.length - unlisted, 'organization')}`,
    unlisted > 0 && `those of ${countOf(unlisted, 'organization')} whose members cannot be listed`,
  ];
  if (personal.length === 0) return clocks;
  return [...clocks, `Personal keys that no connection can list are not in this plan: ${joined(others, ', and ')}.`];
}
