import { z } from 'zod';
import { duration, schedule } from '../values/time.ts';
import { credentialKinds, isKeyKind, isRevocable } from '../wire/kinds.ts';
import {
  type Condition,
  conditionNames,
  conditionShape,
  conditionsOf,
  isOnInactivity,
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
export const leastQuietMs = 7 * 86_400_000;

const rotationTimes = {
  quiet_for: duration
    .refine(({ ms }) => ms >= leastQuietMs, { error: 'quiet_for is at least 7d: a weekly job must have had its turn' })
    .prefault('7d')
    .describe('how long the old key must not have been used'),
  adopt_within: duration.prefault('14d').describe('later, a person is called'),
};

/** The settings for a key whose rotation no rule describes. */
export const rotationDefaults = z.strictObject(rotationTimes).parse({});

const rotationSchema = z.strictObject({
  sink: z.string().describe('the name of one of sinks'),
  ...rotationTimes,
  schedule: schedule.optional().describe('rotations of this rule begin only then'),
});

const reviewRuleName = 'access-review';

const ofKeysAlone = ['more_than', 'used_outside', 'creator_left', 'unscoped'] as const;

const ruleSchema = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'a rule is named by small letters, digits and hyphens'),
    match: matchSchema.default({}),
    preset: z.enum(presetNames).optional().describe('a condition that a published standard asks for'),
    ...conditionShape,
    action: actions.describe('what follows'),
    mode: mode.default('plan').describe('enforce: automatic, if the organization is in mode: enforce, too'),
    notices: z.array(duration).min(1).optional().describe('how long ahead owners are told: 15d, 7d, 1d'),
    even_in_use: z.boolean().default(false).describe('also keys that were used within active_within'),
    rotation: rotationSchema.optional().describe('how keys are rotated; without it a plan only says that they are due'),
  })
  .refine((rule) => conditionsOf(rule).length + (rule.preset === undefined ? 0 : 1) === 1, {
    error: `a rule has exactly one of preset, ${conditionNames.join(', ')}`,
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
  .refine(
    (rule) => ['report', 'notify'].includes(rule.action) || !mentions(rule.condition, ['used_outside', 'unscoped']),
    {
      error:
        'used_outside and unscoped may be wrong (an address can be forged), so that their action is report or notify',
    },
  )
  .refine(({ match: { kinds = [] }, action }) => action !== 'rotate' || kinds.every(isKeyKind), {
    error: 'action: rotate is for API keys: personal, organization, project',
  })
  .refine(({ match: { kinds = [] }, action }) => action !== 'revoke' || kinds.every(isRevocable), {
    error: 'action: revoke is for API keys and branch_credential; of the other kinds a rule reports or notifies',
  })
  .refine(({ match: { kinds = [] }, mode: own }) => own === 'plan' || kinds.every(isKeyKind), {
    error: 'mode: enforce is for API keys; other credentials are revoked when a person approves',
  })
  .refine(({ match: { kinds = [] }, condition }) => kinds.every(isKeyKind) || !mentions(condition, ofKeysAlone), {
    error: `${ofKeysAlone.join(', ')} are conditions of API keys: of other credentials nothing says who made them or from where they are used`,
  })
  .refine((rule) => rule.rotation === undefined || rule.action === 'rotate', {
    error: 'rotation belongs to action: rotate',
  })
  .refine((rule) => rule.rotation === undefined || !mentions(rule.condition, ['more_than', 'name_not_matching']), {
    error:
      'a successor has the same name and place, so that rotation does not belong to more_than and name_not_matching',
  })
  .refine((rule) => rule.mode === 'plan' || rule.action === 'revoke' || rule.rotation !== undefined, {
    error: 'mode: enforce belongs to action: revoke, and to action: rotate with a rotation; nothing else is automatic',
  })
  .refine((rule) => rule.action === 'revoke' || rule.notices.length === 0, {
    error: 'notices belong to action: revoke; an action: notify notifies the owner once, without them',
  })
  .refine((rule) => new Set(rule.notices.map(({ ms }) => ms)).size === rule.notices.length, {
    error: 'two notices are of the same time',
  });

/**
 * Maximum numbers of revocations (R3): in one plan, in 24 hours, and of one creator. Also the maximum number of open rotations.
 */
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
    .refine(({ ms }) => ms <= 30 * 86_400_000, { error: 'canary_wait is at most 30d, after which another canary goes' })
    .prefault('24h'),
});

export const policySchema = z
  .strictObject({
    active_within: duration.prefault('30d').describe('a key used within this is in use'),
    max_evidence_age: duration.prefault('1h').describe('older listings flag nothing'),
    max_clock_skew: duration.prefault('60s').describe('further off the control plane’s clock, nothing is judged'),
    min_observation: duration.optional().describe('keys watched for less are held'),
    second_person_above: z
      .int()
      .min(0)
      .optional()
      .describe('a plan that revokes more keys than this is approved by two persons'),
    quotas: quotasSchema.prefault({}),
    enforcement: enforcementSchema.prefault({}),
    rules: z.array(ruleSchema).default([]),
  })
  .refine(
    ({ rules }) =>
      rules.every(({ name, condition }) => name !== reviewRuleName || condition.reviewed_out !== undefined),
    { error: `${reviewRuleName} is the name of the rule of access reviews; give another`, path: ['rules'] },
  )
  .refine((policy) => new Set(policy.rules.map((rule) => rule.name)).size === policy.rules.length, {
    error: 'two rules bear the same name',
    path: ['rules'],
  })
  .refine(
    ({ rules, active_within: { ms } }) => !rules.some((rule) => rule.even_in_use && isOnInactivity(rule.condition, ms)),
    {
      path: ['rules'],
      error: 'even_in_use does not belong to rules on inactivity; a key that is used is not unused',
      when: ({ issues }) => issues.length === 0,
    },
  );

/**
 * The rule for decisions of signed access reviews, which is part of every policy. A `reviewed_out` rule of the policy replaces it for the keys that
 * it matches.
 */
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

/**
 * Returns whether a rule revokes by how a key was used, or spares a key in use. Two listings in a row must show that use.
 */
export function restsOnUse({ condition, even_in_use: evenInUse }: Rule): boolean {
  return !evenInUse || mentions(condition, ['unused_for', 'never_used_for', 'more_than']);
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
