import { randomBytes } from 'node:crypto';
import { hashPolicy, isOwn, makeMatch, type Policy, type Rule } from '@keywarden/core/policy';
import { makeRotationId } from '@keywarden/core/rotation';
import { isKeyKind } from '@keywarden/core/wire';
import {
  hasOpenOrphan,
  listLiveKeys,
  listRotationRequests,
  type NamedKey,
  openRotation,
  refuseRotationRequest,
  type StoredRotation,
  scopeKeyOf,
  withdrawnInWords,
} from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { findMinter } from './find-minter.ts';
import { whySinkWaits } from './mint.ts';
import { whyLostSuccessor } from './orphans.ts';
import { nowMsOf, type Run } from './run.ts';
import { settingsFor } from './settings.ts';
import { sinkOf } from './sink-of.ts';

/** The result of opening a rotation: its number, or why there is none. */
export interface Opened {
  key: { id: string; name: string; scope: string };
  rule: string | null;
  rotation: string | null;
  whyNot: string | null;
  /** Whether another pass may have another result. */
  isTransient: boolean;
}

export interface Wish {
  key: NamedKey;
  rule: Rule | undefined;
  /** The sink that a person has chosen for the successor; it overrides the rule. */
  sink: string | undefined;
  via: StoredRotation['via'];
  by: string;
  /** The request of the report, if it is one. */
  request?: string;
}

/** Opens one rotation, if a successor can be minted and a sink can take it. Otherwise the key stays subject to the policy. */
export async function open(context: Context, { key, rule, sink, via, by, request }: Wish, run: Run): Promise<Opened> {
  const { store, config } = context;
  const not = (whyNot: string, isTransient = false) => refusal({ key, rule }, { whyNot, isTransient });
  const { kind } = key;
  if (!isKeyKind(kind))
    return not('it is no API key, and Keywarden rotates only these; replace it at the control plane');
  const facts = run.facts.keys.find(({ number }) => number === key.number);
  if (facts === undefined) return not('the last listing does not show it', true);
  const nowMs = nowMsOf(run, facts.scope);
  if (nowMs === null) return not('the control plane’s time is not known well enough', true);
  // A connection that is not usable in this pass may be the one that uses the key, or that can mint.
  const isPart = run.connections.length < config.connections.length;
  const own = run.facts.ownKeys.find((each) => isOwn(each, key));
  const isUsed = run.connections.some((each) => each.controlPlane === key.controlPlane && each.ownKeyId === key.id);
  if (own !== undefined && !isUsed)
    return not(`it belongs to the lineage of connection ${own.connection}’s own key`, isPart);
  const settings = settingsFor(key, { connections: run.connections, rule, sink });
  if ('whyNot' in settings) return not(settings.whyNot);
  const minter = await findMinter(context, { ...facts, ...key, kind }, run.connections);
  if ('whyNot' in minter) return not(minter.whyNot, isPart);
  if (await hasOpenOrphan(store.db, key.number))
    return not('a person must review an orphan of an earlier rotation first; see keywarden incidents');
  const lost = await whyLostSuccessor(context, key.number);
  if (lost !== null) return not(lost);
  const lineage = facts.lineage?.number ?? key.number;
  const opened = await sinkOf(
    context,
    { sink: settings.sink, lineage, id: '', key: { ...facts, kind } },
    run.connections,
  );
  if ('whyNot' in opened) return not(opened.whyNot);
  const unready = await whySinkWaits(context, { sink: settings.sink, lineage }, opened);
  if (unready !== null) return not(`sink ${settings.sink}: ${unready.why}`, !unready.isFinal);
  const result = await openRotation(store.sql, {
    id: makeRotationId(randomBytes),
    key: key.number,
    rule: rule?.name ?? null,
    ...settings,
    via,
    requestedBy: by,
    policySha256: hashPolicy(config.policy),
    at: new Date(nowMs).toISOString(),
    request,
  });
  if (result.number === null) return not(result.whyNot);
  return { ...nameOf({ key, rule }), rotation: result.number, whyNot: null, isTransient: false };
}

/** Returns the result for a rotation that does not begin. */
export function refusal(
  { key, rule }: Pick<Wish, 'key' | 'rule'>,
  { whyNot, isTransient }: { whyNot: string; isTransient: boolean },
): Opened {
  return { ...nameOf({ key, rule }), rotation: null, whyNot, isTransient };
}

const nameOf = ({ key, rule }: Pick<Wish, 'key' | 'rule'>) => ({
  key: { id: key.id, name: key.name, scope: scopeKeyOf(key.controlPlane, key.scope) },
  rule: rule?.name ?? null,
});

/** Opens what operators have requested in the report. Each request is answered once, as soon as possible. */
export async function openRequested(context: Context, run: Run): Promise<Opened[]> {
  const { sql, db } = context.store;
  const requests = await listRotationRequests(db);
  if (requests.length === 0) return [];
  const keys = new Map((await listLiveKeys(db)).map((key) => [key.number, key]));
  const opened: Opened[] = [];
  for (const { number, key: wanted, requestedBy, isWithdrawn } of requests) {
    const key = keys.get(wanted);
    if (key === undefined || isWithdrawn) {
      await refuseRotationRequest(sql, number, isWithdrawn ? withdrawnInWords : 'the key is gone');
      continue;
    }
    const rule = ruleOf(context.config.policy, run, key.number);
    const wish = { key, rule, sink: undefined, via: 'report', by: requestedBy, request: number } as const;
    const result = await open(context, wish, run);
    opened.push(result);
    if (result.whyNot !== null && !result.isTransient) await refuseRotationRequest(sql, number, result.whyNot);
  }
  return opened;
}

/** Returns the rule for a rotation that a person requests: a rule that finds the key now, else the only rule that rotates such keys. */
export function ruleOf({ rules }: Policy, { facts, judgements }: Run, number: string): Rule | undefined {
  const key = facts.keys.find((each) => each.number === number);
  if (key === undefined) return undefined;
  const found = judgements.find((judgement) => judgement.key.number === number)?.findings.map(({ rule }) => rule) ?? [];
  const rotating = rules.filter((rule) => rule.rotation !== undefined && makeMatch(rule)({ key }));
  return found.find(({ rotation }) => rotation !== undefined) ?? (rotating.length === 1 ? rotating[0] : undefined);
}
