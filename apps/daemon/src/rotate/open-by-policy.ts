import { exemptionOf, type Finding, hashPolicy, modeOf, type Policy } from '@keywarden/core/policy';
import { toMs } from '@keywarden/core/values';
import { listLiveKeys, listOpenRotations, readCanaries, readFailures } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { type Opened, open, refusal } from './open.ts';
import type { Run } from './run.ts';
import { controlPlaneOf, endDueRules, readDueRules } from './slots.ts';

/**
 * The default limit of open rotations. Each adds a key. Stalled rotations wait for a person, and do not count.
 */
const mostOpen = 100;

/** For this long after a rotation failed, its key gets no other one, by the control plane's clock. */
const restMs = 86_400_000;

/**
 * Opens the rotations that the policy requests automatically. Rule and organization must both be in `mode: enforce`. The rule's own
 * schedule, if it has one, must be due. In each scope one key of a rule must have gone first (R6).
 */
export async function openByPolicy(context: Context, run: Run): Promise<Opened[]> {
  const { db } = context.store;
  const { policy } = context.config;
  const due = await readDueRules(db, policy, run.facts);
  const wanted = run.judgements
    .flatMap((judgement) => dueFinding(policy, judgement))
    .filter(({ key, rule }) => due.has(placeOf(key.scope, rule.name)));
  const limits = await readLimits(context, wanted);
  const keys = new Map((await listLiveKeys(db)).map((key) => [key.number, key]));
  const by = `policy ${hashPolicy(policy).slice(0, 12)}`;
  const opened: Opened[] = [];
  const left = new Set<string>();
  for (const finding of wanted) {
    const { rule } = finding;
    const key = keys.get(finding.key.number);
    if (key === undefined) continue;
    const not = limits.whyNot(finding);
    const result =
      not === null
        ? await open(context, { key, rule, sink: undefined, via: 'policy', by }, run)
        : refusal({ key, rule }, not);
    opened.push(result);
    if (result.rotation !== null) limits.take(finding);
    if (result.isTransient) left.add(placeOf(finding.key.scope, rule.name));
  }
  await endDueRules(db, due, left);
  return opened;
}

const placeOf = (scope: string, rule: string) => `${controlPlaneOf(scope)} ${rule}`;

/**
 * Returns the finding of the first automatically rotating rule from which the key is not exempt. Returns none if the key is already in
 * rotation.
 */
function dueFinding(policy: Policy, { key, findings }: Run['judgements'][number]): Finding[] {
  if (key.lineage?.rotation != null || modeOf(policy, key) !== 'enforce') return [];
  const due = findings.find(
    ({ rule }) => rule.rotation !== undefined && rule.mode === 'enforce' && exemptionOf(key, rule.name) === undefined,
  );
  return due === undefined ? [] : [due];
}

interface Limits {
  whyNot(finding: Finding): { whyNot: string; isTransient: boolean } | null;
  /** Records that a rotation of the finding has begun. */
  take(finding: Finding): void;
}

/**
 * Returns the limits that keep the policy from opening a rotation now: the number of open ones, and the result of the key's last one. For
 * each rule and scope one key goes first. The others follow when its successor has been in its sink for `canary_wait` (R6).
 */
async function readLimits({ store, config: { policy } }: Context, wanted: Finding[]): Promise<Limits> {
  const { canary_wait: wait } = policy.enforcement;
  const most = policy.quotas.open_rotations ?? mostOpen;
  const moving = (await listOpenRotations(store.db)).filter(({ state }) => state !== 'stalled');
  const failures = await readFailures(store.sql);
  const canaries = new Map<string, string | null>();
  const rules = new Map(wanted.map(({ rule }) => [rule.name, rule.rotation?.sink ?? '']));
  for (const [rule, sink] of rules)
    for (const [scope, at] of await readCanaries(store.db, { rule, sink })) canaries.set(`${rule} ${scope}`, at);
  let free = most - moving.length;
  return {
    whyNot({ key, rule, nowMs }) {
      const failure = failures.get(key.number);
      if (failure?.givenUpBy != null) {
        const whyNot = `${failure.givenUpBy} gave up its last rotation; run keywarden rotate ${key.id} to start another`;
        return { whyNot, isTransient: false };
      }
      if (failure !== undefined && nowMs - toMs(failure.at) < restMs)
        return { whyNot: 'its last rotation failed within a day', isTransient: true };
      if (free <= 0) return { whyNot: `at most ${most} rotations are open at once`, isTransient: true };
      const first = canaries.get(`${rule.name} ${key.scope}`);
      if (first === undefined || (first !== null && nowMs - toMs(first) >= wait.ms)) return null;
      const whyNot = `one key of its scope goes first, the others ${wait.text} after its successor was delivered`;
      return { whyNot, isTransient: true };
    },
    take({ key, rule }) {
      free -= 1;
      const place = `${rule.name} ${key.scope}`;
      if (!canaries.has(place)) canaries.set(place, null);
    },
  };
}
