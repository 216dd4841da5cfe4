import {
  controlPlaneOf,
  exemptionOf,
  type Facts,
  type Finding,
  hashPolicy,
  modeOf,
  type Policy,
  restsOnRevokedSigner,
} from '@keywarden/core/policy';
import { type OpeningLimits, openingLimits } from '@keywarden/core/rotation';
import { endSlot, isSlotDue, listLiveKeys, listOpenRotations, readCanaries, readFailures } from '@keywarden/db/daemon';
import type { Db } from '@keywarden/db/store';
import { Cron } from 'croner';
import type { Context } from '../context.ts';
import { type Opened, open, refusal } from './open.ts';
import type { Run } from './run.ts';

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
    .filter(({ key, rule }) => due.has(dueRuleOf(key.scope, rule.name)));
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
    if (result.isTransient) left.add(dueRuleOf(finding.key.scope, rule.name));
  }
  // A due time for which no rotation is left to begin has ended.
  for (const [place, { slot, ...rule }] of due)
    if (slot !== null && !left.has(place)) await endSlot(db, { ...rule, slot });
  return opened;
}

/** The rules whose rotations may begin at a control plane, by `CONTROL_PLANE RULE`, each with the due time of its schedule, if it has one. */
type DueRules = Map<string, { controlPlane: string; rule: string; slot: string | null }>;

/**
 * Returns the rules whose rotations may begin now: those without their own schedule, and those with a due time that is not yet handled
 * completely. A missed time is caught up. For a new rule only the next time counts. The clocks are the control planes'.
 */
async function readDueRules(db: Db, { rules }: Policy, { scopes }: Facts): Promise<DueRules> {
  const clocks = new Map(
    scopes.flatMap(({ scope, nowMs }) => (nowMs === null ? [] : [[controlPlaneOf(scope), nowMs] as const])),
  );
  const due: DueRules = new Map();
  for (const { name, rotation } of rules) {
    if (rotation === undefined) continue;
    for (const [controlPlane, nowMs] of clocks) {
      const slot = rotation.schedule === undefined ? null : lastTime(rotation.schedule, nowMs);
      if (slot === null || (await isSlotDue(db, { controlPlane, rule: name, slot })))
        due.set(`${controlPlane} ${name}`, { controlPlane, rule: name, slot });
    }
  }
  return due;
}

/** Returns the last time of a schedule before now. Before its first one, returns 1970, which counts as complete for a new rule. */
function lastTime(schedule: string, nowMs: number): string {
  const [last = new Date(0)] = new Cron(schedule, { paused: true, timezone: 'UTC' }).previousRuns(1, new Date(nowMs));
  return last.toISOString();
}

const dueRuleOf = (scope: string, rule: string) => `${controlPlaneOf(scope)} ${rule}`;

/** Returns the finding of the first automatically rotating rule from which the key is not exempt; none if it is already in rotation. */
function dueFinding(policy: Policy, { key, findings }: Run['judgements'][number]): Finding[] {
  if (key.lineage?.rotation != null || modeOf(policy, key) !== 'enforce') return [];
  const due = findings.find(
    (finding) =>
      finding.rule.rotation !== undefined &&
      finding.rule.mode === 'enforce' &&
      exemptionOf(key, finding.rule.name) === undefined &&
      !restsOnRevokedSigner(finding),
  );
  return due === undefined ? [] : [due];
}

/** Returns the limits of the rotations that the policy opens, from the stored rotations. */
async function readLimits({ store, config: { policy } }: Context, wanted: Finding[]): Promise<OpeningLimits> {
  const moving = (await listOpenRotations(store.db)).filter(({ state }) => state !== 'stalled');
  const rules = new Map(wanted.map(({ rule }) => [rule.name, rule.rotation?.sink ?? '']));
  const canaries = new Map<string, Map<string, string | null>>();
  for (const [rule, sink] of rules) canaries.set(rule, await readCanaries(store.db, { rule, sink }));
  return openingLimits(policy, {
    open: moving.length,
    failures: await readFailures(store.sql),
    canaryOf: (rule, scope) => canaries.get(rule)?.get(scope),
  });
}
