import { z } from 'zod';
import { parseDuration } from './duration.ts';

/** A duration as it was written, and in milliseconds. */
export interface Duration {
  text: string;
  ms: number;
}

/** Written as a number and a unit. */
export const duration = z.string().transform((text, context): Duration => {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return { text, ms };
  context.addIssue({ code: 'custom', message: 'a duration is a number and a unit: 45s, 30m, 12h, 90d, 2w' });
  return z.NEVER;
});

const kind = z.enum(['personal', 'organization', 'project']);

const conditions = [
  'unused_for',
  'never_used_for',
  'older_than',
  'more_than',
  'name_not_matching',
  'creator_left',
] as const;

const ruleSchema = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'a rule is named by small letters, digits and hyphens'),
    match: z
      .strictObject({
        kinds: z.array(kind).min(1).optional(),
        organizations: z.array(z.string()).min(1).optional(),
        projects: z.array(z.string()).min(1).optional(),
        creators: z.array(z.string()).min(1).optional(),
        name: z.string().min(1).optional(),
      })
      .default({}),
    unused_for: duration.optional(),
    never_used_for: duration.optional(),
    older_than: duration.optional(),
    name_not_matching: z.array(z.string().min(1)).min(1).optional(),
    creator_left: z.literal(true).optional(),
    more_than: z
      .strictObject({ number: z.int().min(1), per: z.enum(['organization', 'creator', 'project']) })
      .optional(),
    action: z.enum(['report', 'revoke']),
    even_in_use: z.boolean().default(false),
  })
  .refine((rule) => conditions.filter((name) => rule[name] !== undefined).length === 1, {
    error: `a rule has exactly one of ${conditions.join(', ')}`,
  })
  .refine((rule) => !rule.even_in_use || (rule.unused_for === undefined && rule.never_used_for === undefined), {
    error: 'even_in_use does not belong to rules on inactivity; a key that is used is not unused',
  });

/** How many keys a plan may hold (R3): in all, with those of the last 24 hours, and of one creator. */
const quotasSchema = z.strictObject({
  per_run: z.int().min(1).optional(),
  per_day: z.int().min(1).optional(),
  per_creator: z.int().min(1).optional(),
});

export const policySchema = z
  .strictObject({
    active_within: duration.prefault('30d'),
    max_evidence_age: duration.prefault('1h'),
    max_clock_skew: duration.prefault('60s'),
    quotas: quotasSchema.prefault({}),
    rules: z.array(ruleSchema).default([]),
  })
  .refine((policy) => new Set(policy.rules.map((rule) => rule.name)).size === policy.rules.length, {
    error: 'two rules bear the same name',
    path: ['rules'],
  });

/** A policy as parsed; docs/POLICY.md describes each setting. */
export type Policy = z.output<typeof policySchema>;
export type Rule = Policy['rules'][number];
export type KeyKind = z.output<typeof kind>;

/** The policy of a configuration that has none. */
export const defaultPolicy: Policy = policySchema.parse({
  rules: [
    { name: 'unused-90d', unused_for: '90d', action: 'revoke' },
    { name: 'never-used-30d', never_used_for: '30d', action: 'revoke' },
    { name: 'too-many-per-creator', more_than: { number: 5, per: 'creator' }, action: 'report' },
  ],
});
