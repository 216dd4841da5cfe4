import { randomBytes } from 'node:crypto';
import { exemptionOf, type Finding, hashPolicy, modeOf, type Policy, type Rule } from '@keywarden/core/policy';
import { makeRotationId } from '@keywarden/core/rotation';
import {
  answerRotationRequest,
  factScope,
  hasOpenOrphan,
  lastFailedAt,
  listLiveKeys,
  listRotationRequests,
  listRotations,
  type NamedKey,
  openRotation,
  type StoredRotation,
} from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import type { Run } from './run.ts';
import { takeDueRules } from './slots.ts';
import { findMinter, settingsFor } from './who.ts';

/** A rotation that was to begin: its number, or why there is none. */
export interface Opened {
  key: { id: string; name: string; scope: string };
  rule: string | null;
  rotation: string | null;
  whyNot: string | null;
}

export interface Wish {
  key: NamedKey & { projectId?: string | null };
  rule: Rule | undefined;
  sink: string | undefined;
  via: StoredRotation['via'];
  by: string;
}

/** So many rotations are open at once, unless the policy says otherwise: each is a key more. */
const mostOpen = 100;

/** Opens one rotation, if it can be done at all. */
export async function open(context: Context, { key, rule, sink, via, by }: Wish, run: Run): Promise<Opened> {
  const { store, config } = context;
  const not = (whyNot: string): Opened => ({ key: nameOf(key), rule: rule?.name ?? null, rotation: null, whyNot });
  const settings = settingsFor(key, { connections: run.connections, rule, sink });
  if ('whyNot' in settings) return not(settings.whyNot);
  const facts = run.facts.keys.find(({ number }) => number === key.number);
  if (facts === undefined) return not('the last listing does not show it');
  const minter = await findMinter(context, { ...key, kind: facts.kind, projectId: facts.projectId }, run.connections);
  if ('whyNot' in minter) return not(minter.whyNot);
  if (await hasOpenOrphan(store.sql, key.number))
    return not('an orphan of an earlier rotation is to be looked at first; see keywarden incidents');
  const scope = run.facts.scopes.find((each) => each.scope === facts.scope);
  if (scope?.nowMs == null) return not('the control plane’s time is not known well enough');
  const rotation = await openRotation(store.sql, {
    id: makeRotationId(randomBytes),
    key: key.number,
    rule: rule?.name ?? null,
    ...settings,
    via,
    requestedBy: by,
    policySha256: hashPolicy(config.policy),
    at: new Date(scope.nowMs).toISOString(),
  });
  if (rotation === undefined) return not('another key of its line is in rotation');
  return { key: nameOf(key), rule: rule?.name ?? null, rotation, whyNot: null };
}

const nameOf = (key: NamedKey) => ({ id: key.id, name: key.name, scope: factScope(key.controlPlane, key.scope) });

/** What operators have asked for in the report: each request is answered once. */
export async function openRequested(context: Context, run: Run): Promise<Opened[]> {
  const { sql } = context.store;
  const requests = await listRotationRequests(sql);
  if (requests.length === 0) return [];
  const keys = await listLiveKeys(sql);
  const opened: Opened[] = [];
  for (const { number, key: wanted, requestedBy } of requests) {
    const key = keys.find((each) => each.number === wanted);
    if (key === undefined) {
      await answerRotationRequest(sql, number, { whyNot: 'the key is gone' });
      continue;
    }
    const rule = ruleOf(context.config.policy, run, key.number);
    const result = await open(context, { key, rule, sink: undefined, via: 'report', by: requestedBy }, run);
    await answerRotationRequest(
      sql,
      number,
      result.whyNot === null ? { rotation: result.rotation } : { whyNot: result.whyNot },
    );
    opened.push(result);
  }
  return opened;
}

/** The rule by which a key is rotated when a person asks for it: one that finds it now, else the only one that looks at such keys. */
export function ruleOf({ rules }: Policy, { judgements }: Run, key: string): Rule | undefined {
  const found = judgements.find((judgement) => judgement.key.number === key)?.findings.map(({ rule }) => rule) ?? [];
  const rotating = rules.filter(({ rotation }) => rotation !== undefined);
  return found.find(({ rotation }) => rotation !== undefined) ?? (rotating.length === 1 ? rotating[0] : undefined);
}

/** After a rotation failed, its key is left alone for so long. */
const restMs = 86_400_000;

/** What the policy wants by itself: rule and organization are both in `mode: enforce`, and the rule's own schedule, if it has one, says now. */
export async function openByPolicy(context: Context, run: Run): Promise<Opened[]> {
  const { store, config } = context;
  const { policy } = config;
  const rules = await takeDueRules(store.sql, policy, run.facts);
  const keys = new Map((await listLiveKeys(store.sql)).map((key) => [key.number, key]));
  let left =
    (policy.quotas.open_rotations ?? mostOpen) -
    (await listRotations(store.sql, { isOpen: true, limit: 10_000 })).length;
  const opened: Opened[] = [];
  for (const finding of run.judgements.flatMap(dueFinding)) {
    const key = keys.get(finding.key.number);
    if (key === undefined || modeOf(policy, finding.key) !== 'enforce' || !rules.has(finding.rule.name)) continue;
    const failedAt = await lastFailedAt(store.sql, key.number);
    if (failedAt !== null && finding.nowMs - Date.parse(failedAt) < restMs) continue;
    if (left <= 0) {
      const whyNot = `at most ${policy.quotas.open_rotations ?? mostOpen} rotations are open at once`;
      opened.push({ key: nameOf(key), rule: finding.rule.name, rotation: null, whyNot });
      continue;
    }
    const by = `policy ${hashPolicy(policy).slice(0, 12)}`;
    const result = await open(context, { key, rule: finding.rule, sink: undefined, via: 'policy', by }, run);
    opened.push(result);
    if (result.rotation !== null) left -= 1;
  }
  return opened;
}

/** The first rule that has a key rotated, if the key is not exempt from it nor in rotation. */
function dueFinding({ key, findings }: Run['judgements'][number]): Finding[] {
  if (key.line?.rotation != null) return [];
  const due = findings.find(
    ({ rule }) => rule.rotation !== undefined && rule.mode === 'enforce' && exemptionOf(key, rule.name) === undefined,
  );
  return due === undefined ? [] : [due];
}
