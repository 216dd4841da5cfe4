import {
  type Facts,
  hashPolicy,
  isApprovedContent,
  judge,
  makePlan,
  mentions,
  type Plan,
  type PlanDocument,
  planVersion,
} from '@keywarden/core/policy';
import { sha256 } from '@keywarden/core/values';
import { otherKinds } from '@keywarden/core/wire';
import { readFacts, readPlan, type ScopeReference, savePlan } from '@keywarden/db/daemon';
import { UserError, usageError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { clockOf } from '../control-plane-clock.ts';

/** Judges the stored keys, makes a plan and stores it. Changes nothing upstream. `isNew` is false if the store already has the same plan. */
export async function planKeys(
  context: Context,
  connections: Connection[],
): Promise<Plan & { isNew: boolean; facts: Facts }> {
  const { policy } = context.config;
  const facts = await gatherFacts(context, connections);
  const plan = makePlan(policy, facts);
  return { ...plan, facts, isNew: await savePlan(context.store.sql, plan, policy) };
}

/** Returns the judgement of the policy in force on one scope's keys, as they are stored now. */
export async function judgeScope(
  context: Pick<Context, 'store' | 'config' | 'now'>,
  connections: Connection[],
  scope: ScopeReference,
): Promise<ReturnType<typeof judge> & { facts: Facts; policySha256: string }> {
  const { policy } = context.config;
  const facts = await gatherFacts(context, connections, scope);
  return { ...judge(policy, facts), facts, policySha256: hashPolicy(policy) };
}

async function gatherFacts(
  { store, config, now }: Pick<Context, 'store' | 'config' | 'now'>,
  connections: Connection[],
  scope?: ScopeReference,
): Promise<Facts> {
  const { policy, channels } = config;
  const nowMs = clockOf(policy, connections);
  const mention = (name: 'used_outside' | 'unscoped') =>
    policy.rules.some(({ condition }) => mentions(condition, [name]));
  const controlPlaneTimes = connections.map(({ controlPlane }) => nowMs(controlPlane) ?? now());
  return await readFacts(store, {
    nowMs,
    ourNowMs: now(),
    maxEvidenceAgeMs: policy.max_evidence_age.ms,
    policySha256: hashPolicy(policy),
    channels: channels.map(({ name }) => name),
    addressesSinceMs: mention('used_outside') ? Math.min(...controlPlaneTimes) - policy.active_within.ms : null,
    needsProjects: mention('unscoped'),
    otherKinds: otherKinds.filter((kind) => policy.rules.some(({ match }) => match.kinds?.includes(kind) === true)),
    configured: config.connections.map(({ name, identity, keyId }) => {
      // The key file of an authenticated connection may name another key than when the configuration was read.
      const used = connections.find((connection) => connection.name === name);
      return { name, baseUrl: identity, ownKeyId: used === undefined ? keyId : used.ownKeyId };
    }),
    ...(scope === undefined ? {} : { scope }),
  });
}

/** Returns a stored plan's document if it is unchanged since it was made. Throws a UserError that names the fix. */
export async function readDocument({ store }: Pick<Context, 'store'>, planId: string): Promise<PlanDocument> {
  const plan = await readPlan(store.db, planId);
  if (plan === undefined)
    throw usageError(`There is no plan ${planId}; make one with keywarden plan, which prints its id.`);
  const refused = (why: string) => new UserError('plan', `Plan ${planId} ${why}; make a new one with keywarden plan.`);
  if (sha256(plan.document) !== plan.sha256) throw refused('is not what it was when it was made');
  // The text is what makePlan wrote: its hash proves it.
  const document = JSON.parse(plan.document) as PlanDocument;
  if (document.version !== planVersion) throw refused('was made by another version of Keywarden');
  if (plan.approves === null || !isApprovedContent(document, { id: planId, approves: plan.approves }))
    throw refused('is not what its id stands for');
  return document;
}
