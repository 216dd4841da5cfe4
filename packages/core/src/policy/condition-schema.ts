import { z } from 'zod';
import { dayMs } from '../values/index.ts';
import { isNetwork } from '../values/patterns.ts';
import { duration } from '../values/time.ts';

/** The control plane shows a use only minutes later. A limit below a day would flag keys that are constantly in use. */
const idleness = duration.refine(({ ms }) => ms >= dayMs, {
  error: 'must be at least 1d; the unit m means minutes',
});

const names = z.array(z.string().min(1)).min(1);

const network = z.string().refine(isNetwork, {
  error: 'must be an address or a range of addresses: 203.0.113.7, 203.0.113.0/24, 2001:db8::/32',
});

const leaves = {
  unused_for: idleness.optional().describe('last used longer ago than this; excludes keys that were never used'),
  never_used_for: idleness.optional().describe('never used, and created longer ago than this'),
  older_than: duration.optional().describe('created longer ago than this'),
  more_than: z
    .strictObject({ number: z.int().min(1), per: z.enum(['organization', 'creator', 'project']) })
    .optional()
    .describe('the keys beyond this number, the longest unused first'),
  used_outside: z.array(network).min(1).optional().describe('used from an address in none of these ranges'),
  creator_left: z.literal(true).optional().describe('its creator is no longer a member of the organization'),
  without_expiry: z.literal(true).optional().describe('it never expires, like all API keys'),
  expires_within: duration.optional().describe('it expires within this time, or has expired'),
  name_not_matching: names.optional().describe('its name matches none of these patterns'),
  reviewed_out: z.literal(true).optional().describe('a signed access review decided to revoke it'),
  unscoped: z.literal(true).optional().describe('an organization key that a key of one project could replace'),
};

/** The settings of a condition, which a rule contains directly. Exactly one of them is set. */
export const conditionShape = {
  ...leaves,
  get all() {
    return z.array(conditionSchema).min(1).optional();
  },
  get any() {
    return z.array(conditionSchema).min(1).optional();
  },
  get not() {
    return conditionSchema.optional();
  },
};

type LeafName = keyof typeof leaves;
type Leaf = { [Name in LeafName]?: z.output<(typeof leaves)[Name]> };

/** A condition that flags a key: one leaf, or a combination of conditions. */
export type Condition = Leaf & {
  all?: Condition[] | undefined;
  any?: Condition[] | undefined;
  not?: Condition | undefined;
};

const leafNames = Object.keys(leaves) as LeafName[];
export const conditionNames: (keyof Condition)[] = [...leafNames, 'all', 'any', 'not'];

/** A table with a function for each leaf, which takes the value of its setting. */
type ByLeaf<R> = { [Name in LeafName]: (setting: NonNullable<Leaf[Name]>) => R };

/** Returns what a table has for the leaf that a condition consists of. */
export function byLeaf<R>(condition: Condition, table: ByLeaf<R>): R {
  const name = leafNames.find((each) => condition[each] !== undefined);
  if (name === undefined) throw new TypeError('the condition has no leaf');
  // Each entry takes the setting of its own name.
  return (table[name] as (setting: Condition[LeafName]) => R)(condition[name]);
}

/**
 * How a rule may use each leaf.
 * - onUse: it depends on how the key was used, which two listings in a row must show (R1)
 * - keysOnly: other credentials lack what it looks at
 * - unsure: it may be wrong, so it revokes no key
 * - inherited: a successor matches it like the key that it replaces
 */
const traits: Record<LeafName, readonly ('onUse' | 'keysOnly' | 'unsure' | 'inherited')[]> = {
  unused_for: ['onUse'],
  never_used_for: ['onUse'],
  older_than: [],
  more_than: ['onUse', 'keysOnly', 'inherited'],
  used_outside: ['keysOnly', 'unsure'],
  creator_left: ['keysOnly'],
  without_expiry: [],
  expires_within: [],
  name_not_matching: ['inherited'],
  reviewed_out: [],
  unscoped: ['keysOnly', 'unsure'],
};

/** Returns the leaves with a trait. */
export const leavesWith = (trait: (typeof traits)[LeafName][number]) =>
  leafNames.filter((name) => traits[name].includes(trait));

/** Returns which conditions a rule or a part of one sets. */
export function conditionsOf(value: Condition): (keyof Condition)[] {
  return conditionNames.filter((name) => value[name] !== undefined);
}

const conditionSchema: z.ZodType<Condition> = z
  .strictObject(conditionShape)
  .refine((value) => conditionsOf(value).length === 1, {
    error: `a condition is exactly one of ${conditionNames.join(', ')}`,
  });

/** Returns whether a condition, or one that it combines, is among these. */
export function mentions(condition: Condition, among: readonly (keyof Condition)[]): boolean {
  if (among.some((name) => condition[name] !== undefined)) return true;
  const parts = [...(condition.all ?? []), ...(condition.any ?? []), ...(condition.not ? [condition.not] : [])];
  return parts.some((part) => mentions(part, among));
}

/** Returns whether a key that the condition flags was certainly not used within `activeMs`. Such a rule needs no even_in_use (R8). */
export function isOnInactivity(condition: Condition, activeMs: number): boolean {
  const { unused_for: unused, never_used_for: never, all, any } = condition;
  if (all !== undefined) return all.some((part) => isOnInactivity(part, activeMs));
  if (any !== undefined) return any.every((part) => isOnInactivity(part, activeMs));
  return never !== undefined || (unused !== undefined && unused.ms >= activeMs);
}
