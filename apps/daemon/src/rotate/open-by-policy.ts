import { exemptionOf, type Finding, hashPolicy, modeOf, type Policy } from '@keywarden/core/policy';
import { toMs } from '@keywarden/core/wire';
import { listLiveKeys, listOpenRotations, readCanaries, readFailures } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { type Opened, open, refusal } from './open.ts';
import type { Run } from './run.ts';
import { controlPlaneOf, endDueRules, readDueRules } from './slots.ts';

/** So many rotations are open at once, unless the policy says otherwise: each is a key more. Those that stall wait for a person, and do not count. */
const mostOpen = 100;

/** After a rotation failed, its key is left alone for so long, by the control plane's clock. */
const restMs = 86_400_000;

/**
 * What the policy wants by itself: rule and organization are both in `mode: enforce`, the rule's own schedule, if it has one, says now, and in each
 * scope one key of a rule has gone first (R6).
 */
export async function openByPolicy(context: Context, run: Run): Promise<Opened[]> {
  const { store, config } = context;
  const { policy } = config;
  const due = await readDueRules(store.sql, policy, run.facts);
  const findings = run.judgements.flatMap((judgement) => dueFinding(policy, judgement));
  const wanted = findings.filter(({ key, rule }) => due.has(placeOf(key.scope, rule.name)));
  const most = policy.quotas.open_rotations ?? mostOpen;
  const open_ = (await listOpenRotations(store.sql)).filter(({ state }) => state !== 'stalled').length;
  const keys = new Map((await listLiveKeys(store.sql)).map((key) => [key.number, key]));
  const failures = await readFailures(store.sql);
  const waitsForCanary = await makeCanaries(context, wanted);
  const opened: Opened[] = [];
  const left = new Set<string>();
  let free = most - open_;
  for (const { key: facts, rule, nowMs } of wanted) {
    const key = keys.get(facts.number);
    if (key === undefined) continue;
    const failure = failures.get(key.number);
    if (failure?.givenUpBy != null) {
      opened.push(
        refusal(
          { key, rule },
          `${failure.givenUpBy} gave its last rotation up; keywarden rotate ${key.id} begins another`,
          false,
        ),
      );
      continue;
    }
    if (failure !== undefined && nowMs - toMs(failure.at) < restMs) continue;
    const waits =
      free > 0 ? waitsForCanary(facts.scope, rule.name, nowMs) : `at most ${most} rotations are open at once`;
    const by = `policy ${hashPolicy(policy).slice(0, 12)}`;
    const result =
      waits === null
        ? await open(context, { key, rule, sink: undefined, via: 'policy', by }, run)
        : refusal({ key, rule }, waits, true);
    opened.push(result);
    if (result.rotation !== null) free -= 1;
    if (result.isTransient) left.add(placeOf(facts.scope, rule.name));
  }
  await endDueRules(store.sql, due, left);
  return opened;
}

const placeOf = (scope: string, rule: string) => `${controlPlaneOf(scope)} ${rule}`;

/** The first rule that has a key rotated by itself, if the key is not exempt from it nor in rotation. */
function dueFinding(policy: Policy, { key, findings }: Run['judgements'][number]): Finding[] {
  if (key.line?.rotation != null || modeOf(policy, key) !== 'enforce') return [];
  const due = findings.find(
    ({ rule }) => rule.rotation !== undefined && rule.mode === 'enforce' && exemptionOf(key, rule.name) === undefined,
  );
  return due === undefined ? [] : [due];
}

/** R6: of each rule and scope one goes first, and the others when its successor has been in its sink for `canary_wait`. */
async function makeCanaries(
  { store, config }: Context,
  findings: Finding[],
): Promise<(scope: string, rule: string, nowMs: number) => string | null> {
  const { canary_wait: wait } = config.policy.enforcement;
  const byRule = new Map<string, Map<string, string | null>>();
  for (const name of new Set(findings.map(({ rule }) => rule.name)))
    byRule.set(name, await readCanaries(store.sql, name));
  return (scope, rule, nowMs) => {
    const canaries = byRule.get(rule) ?? new Map<string, string | null>();
    const first = canaries.get(scope);
    if (first === undefined) {
      canaries.set(scope, null);
      return null;
    }
    const isOver = first !== null && nowMs - toMs(first) >= wait.ms;
    return isOver ? null : `one key of its scope goes first, the others ${wait.text} after its successor was delivered`;
  };
}
