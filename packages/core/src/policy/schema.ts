import { z } from 'zod';
import { dayMs } from '../values/index.ts';
import { duration, schedule } from '../values/time.ts';
import { type CredentialKind, credentialKinds, isKeyKind, isRevocable } from '../wire/kinds.ts';
import {
  type Condition,
  conditionNames,
  conditionShape,
  conditionsOf,
  isOnInactivity,
  leavesWith,
  mentions,
} from './condition-schema.ts';
import { presetNames, presets } from './presets.ts';

const kind = z.enum(credentialKinds);
const mode = z.enum(['plan', 'enforce']);
const ids = z.array(z.string()).min(1).optional();

const matchSchema = z.strictObject({
  kinds: z.array(kind).min(1).optional(),
  organizations: ids,
  projects: ids,
  creators: ids,
  owners: ids,
  name: z.string().min(1).optional(),
});

const actions = z.enum(['report', 'notify', 'rotate', 'revoke']);

/** A weekly job must have run within this time (T1). */
export const leastQuietMs = 7 * dayMs;

const rotationTimes = {
  quiet_for: duration
    .refine(({ ms }) => ms >= leastQuietMs, {
      error: 'quiet_for must be at least 7d, so that a weekly job runs within it',
    })
    .prefault('7d')
    .describe('how long the old key must be unused'),
  adopt_within: duration.prefault('14d').describe('after this time, an incident is opened for a person'),
};

/** The settings for a key whose rotation no rule describes. */
export const rotationDefaults = z.strictObject(rotationTimes).parse({});

const rotationSchema = z.strictObject({
  sink: z.string().describe('the name of an entry in sinks'),
  ...rotationTimes,
  schedule: schedule.optional().describe('the only times at which rotations of this rule begin'),
});

const reviewRuleName = 'access-review';

const keysOnly = leavesWith('keysOnly');
const unsure = leavesWith('unsure');
const inherited = leavesWith('inherited');
const onUse = leavesWith('onUse');

const ruleSchema = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'use lowercase letters, digits and hyphens'),
    match: matchSchema.default({}),
    preset: z.enum(presetNames).optional().describe('a condition that a published standard requires'),
    ...conditionShape,
    action: actions.describe('what happens to keys that match'),
    mode: mode.default('plan').describe('enforce: automatic, if the organization is also in mode: enforce'),
    notices: z
      .array(duration)
      .min(1)
      .optional()
      .describe('how long before a revocation owners are notified: 15d, 7d, 1d'),
    even_in_use: z
      .boolean()
      .default(false)
      .describe('true: includes keys that were used within active_within, or whose last use is unknown'),
    rotation: rotationSchema
      .optional()
      .describe('how keys are rotated; without it, a plan only reports that they are due'),
  })
  .refine((rule) => conditionsOf(rule).length + (rule.preset === undefined ? 0 : 1) === 1, {
    error: `a rule must have exactly one of preset, ${conditionNames.join(', ')}`,
  })
  .transform(({ name, match, preset, action, mode: ruleMode, notices = [], even_in_use, rotation, ...rest }) => {
    const known = preset === undefined ? undefined : presets[preset];
    const condition: Condition = known?.condition ?? rest;
    return {
      name,
      match,
      condition,
      source: known?.source ?? null,
      action,
      mode: ruleMode,
      notices: notices.toSorted((a, b) => b.ms - a.ms),
      even_in_use,
      ...(rotation === undefined ? {} : { rotation }),
    };
  })
  .refine((rule) => ['report', 'notify'].includes(rule.action) || !mentions(rule.condition, unsure), {
    error: `${unsure.join(' and ')} may be wrong (an address can be forged), so their action must be report or notify`,
  })
  .refine(({ match: { kinds = [] }, action }) => action !== 'rotate' || kinds.every(isKeyKind), {
    error: 'action: rotate is for API keys: personal, organization, project',
  })
  .refine(({ match: { kinds = [] }, action }) => action !== 'revoke' || kinds.every(isRevocable), {
    error: 'action: revoke is for API keys and branch_credential; use report or notify for the other kinds',
  })
  .refine(({ match: { kinds = [] }, mode: own }) => own === 'plan' || kinds.every(isKeyKind), {
    error: 'mode: enforce is for API keys; a person must approve revocations of other credentials',
  })
  .refine(({ match: { kinds = [] }, condition }) => kinds.every(isKeyKind) || !mentions(condition, keysOnly), {
    error: `${keysOnly.join(', ')} are conditions of API keys: the creators and addresses of other credentials are not reported`,
  })
  .refine((rule) => rule.rotation === undefined || rule.action === 'rotate', {
    error: 'rotation requires action: rotate',
  })
  .refine((rule) => rule.rotation === undefined || !mentions(rule.condition, inherited), {
    error: `rotation does not work with ${inherited.join(' and ')}: a successor has the same name and place`,
  })
  .refine((rule) => rule.mode === 'plan' || rule.action === 'revoke' || rule.rotation !== undefined, {
    error: 'mode: enforce requires action: revoke, or action: rotate with a rotation; nothing else is automatic',
  })
  .refine((rule) => rule.action === 'revoke' || rule.notices.length === 0, {
    error: 'notices require action: revoke; action: notify notifies the owner once, without notices',
  })
  .refine((rule) => new Set(rule.notices.map(({ ms }) => ms)).size === rule.notices.length, {
    error: 'two notices have the same duration',
  });

/** Maximum numbers of revocations (R3): in one plan, in 24 hours, and of one creator. Also the maximum number of open rotations. */
const quotasSchema = z.strictObject({
  per_run: z.int().min(1).optional(),
  per_day: z.int().min(1).optional(),
  per_creator: z.int().min(1).optional(),
  open_rotations: z.int().min(1).optional(),
});

/** Settings for automatic revocation (R3, R6). */
const enforcementSchema = z.strictObject({
  /** By organization id; `*` for organizations not named, `personal` for the keys of connections' own users. */
  organizations: z.record(z.string(), z.strictObject({ mode })).default({}),
  breaker_percent: z.number().gt(0).max(100).default(20),
  canary_wait: duration
    .refine(({ ms }) => ms <= 30 * dayMs, {
      error: 'canary_wait must be at most 30d; then a new canary is revoked first',
    })
    .prefault('24h'),
});

export const policySchema = z
  .strictObject({
    active_within: duration.prefault('30d').describe('a key used within this is in use'),
    max_evidence_age: duration.prefault('1h').describe('listings older than this flag no keys'),
    max_clock_skew: duration.prefault('60s').describe('if the clocks differ by more, nothing is judged'),
    min_observation: duration.optional().describe('keys observed for a shorter time are held'),
    second_person_above: z
      .int()
      .min(0)
      .optional()
      .describe('two persons must approve plans that revoke more keys than this in a day'),
    quotas: quotasSchema.prefault({}),
    enforcement: enforcementSchema.prefault({}),
    rules: z.array(ruleSchema).default([]),
  })
  .refine(
    ({ rules }) =>
      rules.every(({ name, condition }) => name !== reviewRuleName || condition.reviewed_out !== undefined),
    { error: `${reviewRuleName} is reserved for the rule of access reviews; choose another name`, path: ['rules'] },
  )
  .refine((policy) => new Set(policy.rules.map((rule) => rule.name)).size === policy.rules.length, {
    error: 'two rules have the same name',
    path: ['rules'],
  })
  .refine(
    ({ rules, active_within: { ms } }) => !rules.some((rule) => rule.even_in_use && isOnInactivity(rule.condition, ms)),
    {
      path: ['rules'],
      error: 'even_in_use does not apply to rules on inactivity: a used key is not unused',
      when: ({ issues }) => issues.length === 0,
    },
  );

/** The rule of signed access reviews, part of every policy. A `reviewed_out` rule replaces it for the keys that it matches. */
export const reviewRule: Rule = {
  name: reviewRuleName,
  match: {},
  condition: { reviewed_out: true },
  source: null,
  action: 'revoke',
  mode: 'plan',
  notices: [],
  even_in_use: true,
};

/** A parsed policy; docs/POLICY.md describes each setting. */
export type Policy = z.output<typeof policySchema>;
export type Rule = Policy['rules'][number];

/** Returns whether a rule revokes by how a key was used, or spares a key in use. Two listings in a row must show that use. */
export function restsOnUse({ condition, even_in_use: evenInUse }: Rule): boolean {
  return !evenInUse || mentions(condition, onUse);
}
export type Action = Rule['action'];

/** The policy of a configuration without one. */
export const defaultPolicy: Policy = policySchema.parse({
  rules: [
    { name: 'unused-90d', unused_for: '90d', action: 'revoke' },
    { name: 'never-used-30d', never_used_for: '30d', action: 'revoke' },
    { name: 'too-many-per-creator', more_than: { number: 5, per: 'creator' }, action: 'report' },
  ],
});

/** Returns what the policy may do automatically with a key, by its organization. */
export function modeOf(
  { enforcement: { organizations } }: Policy,
  key: { kind: CredentialKind; organizationId: string | null },
): 'plan' | 'enforce' {
  // Each project is its own scope, too small for breakers and canaries: a person must approve.
  if (!isKeyKind(key.kind)) return 'plan';
  if (key.kind === 'personal') return organizations.personal?.mode ?? 'plan';
  return (organizations[key.organizationId ?? ''] ?? organizations['*'])?.mode ?? 'plan';
}
