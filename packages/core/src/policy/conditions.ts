import { clientAddress, makeGlobTest, makeNetworkTest } from '../values/patterns.ts';
import { type Duration, toMs } from '../values/time.ts';
import { isKeyKind, showsExpiry, showsUse } from '../wire/index.ts';
import { byLeaf, type Condition } from './condition-schema.ts';
import { conditionInWords } from './explain.ts';
import { isCreationKnown, type KeyFacts } from './facts.ts';
import type { Evidence } from './finding.ts';
import type { RankOf } from './ranks.ts';
import type { Grouping, TimedKey } from './timed-key.ts';

/** Why a condition is neither true nor false for a key. */
export interface Unknown {
  unknown: string;
}

/** Judges a key. Returns the evidence if the condition holds, false if it does not, or why the result is unknown. */
export type Test = (timed: TimedKey) => Evidence | Unknown | false;

export const isUnknown = (result: Evidence | Unknown): result is Unknown => 'unknown' in result;

const unknownUse: Unknown = {
  unknown: 'its last use is unknown: it moved backwards, is before its creation or in the future, or has no time',
};

const unobservedUse: Unknown = { unknown: 'its last use is unknown: no listing shows it for that time' };

const whyUseUnknown = ({ kind, use }: KeyFacts): Unknown =>
  showsUse(kind)
    ? use.state === 'unknown' && use.unobserved !== undefined
      ? unobservedUse
      : unknownUse
    : { unknown: `its last use is unknown: the control plane does not report when a ${kind} was used` };

/** API keys never expire. Of other kinds whose expiry is not reported, a record without one says nothing. */
const isExpiryUnknown = ({ kind, expiresAt }: KeyFacts): boolean =>
  expiresAt === undefined && !isKeyKind(kind) && !showsExpiry(kind);

const whyExpiryUnknown = ({ kind }: KeyFacts): Unknown => ({
  unknown: `its expiry is unknown: the control plane does not report when a ${kind} expires`,
});

/** No record has an earlier time: it stands for a time that the control plane does not report. */
const earliest = '2000-01-01';

const whyAgeUnknown = ({ kind, createdAt }: KeyFacts): Unknown => ({
  unknown:
    createdAt < earliest && !isKeyKind(kind)
      ? `its creation time is unknown: the control plane does not report when a ${kind} was created`
      : 'its creation time is unknown: the time in its record is impossible',
});

/** Returns the test of a condition. `ranks` gives the ranks of keys among those that the rule matches. */
export function compile(condition: Condition, ranks: (per: Grouping) => RankOf): Test {
  if (condition.all !== undefined) return allOf(condition.all.map((part) => compile(part, ranks)));
  if (condition.any !== undefined) return anyOf(condition.any.map((part) => compile(part, ranks)));
  if (condition.not !== undefined) return negate(condition.not, compile(condition.not, ranks));
  return byLeaf(condition, {
    unused_for: unusedFor,
    never_used_for: neverUsedFor,
    older_than: olderThan,
    more_than: (more) => moreThan(more, ranks(more.per)),
    used_outside: usedOutside,
    creator_left: () => creatorLeft,
    without_expiry: () => withoutExpiry,
    expires_within: expiresWithin,
    name_not_matching: nameNotMatching,
    reviewed_out: () => reviewedOut,
    unscoped: () => unscoped,
  });
}

const unusedFor =
  ({ ms, text }: Duration): Test =>
  ({ key, nowMs, lastUseMs, createdMs }) => {
    const { use } = key;
    if (use.state === 'unknown') return isInUse(key, { nowMs, limitMs: ms }) ? false : whyUseUnknown(key);
    if (!isCreationKnown(key)) return whyAgeUnknown(key);
    if (use.state === 'never' || !(nowMs - lastUseMs > ms) || !(nowMs - createdMs > ms)) return false;
    return { condition: 'unused_for', last_used_at: use.at, limit: text };
  };

const neverUsedFor =
  ({ ms, text }: Duration): Test =>
  ({ key, nowMs, createdMs }) => {
    const { use, createdAt } = key;
    if (use.state === 'unknown')
      return use.unobserved?.since != null || isInUse(key, { nowMs, limitMs: ms }) ? false : whyUseUnknown(key);
    if (!isCreationKnown(key)) return whyAgeUnknown(key);
    if (use.state === 'used' || !(nowMs - createdMs > ms)) return false;
    return { condition: 'never_used_for', created_at: createdAt, limit: text };
  };

const olderThan =
  ({ ms, text }: Duration): Test =>
  ({ key, nowMs, createdMs }) => {
    if (!isCreationKnown(key)) return whyAgeUnknown(key);
    return nowMs - createdMs > ms && { condition: 'older_than', created_at: key.createdAt, limit: text };
  };

/** Returns whether a key whose last use is unknown was certainly used, or created, within a time. */
function isInUse(key: KeyFacts, { nowMs, limitMs }: { nowMs: number; limitMs: number }): boolean {
  const { use, createdAt } = key;
  if (use.state !== 'unknown' || use.unobserved === undefined) return false;
  const since = use.unobserved.since ?? (isCreationKnown(key) ? createdAt : null);
  return since !== null && nowMs - toMs(since) <= limitMs;
}

const withoutExpiry: Test = ({ key }) => {
  if (isExpiryUnknown(key)) return whyExpiryUnknown(key);
  return key.expiresAt === undefined && { condition: 'without_expiry', created_at: key.createdAt };
};

const expiresWithin =
  ({ ms, text }: Duration): Test =>
  ({ key, nowMs }) => {
    const { expiresAt } = key;
    if (isExpiryUnknown(key)) return whyExpiryUnknown(key);
    // Beyond the year 9999 it is not a number. Some services write the last moment of that year for "never", and Postgres rounds it up.
    if (expiresAt === undefined || !(toMs(expiresAt) - nowMs <= ms)) return false;
    return { condition: 'expires_within', expires_at: expiresAt, limit: text };
  };

const moreThan =
  ({ number, per }: { number: number; per: Grouping }, rankOf: RankOf): Test =>
  (timed) => {
    const found = rankOf(timed);
    if (found === undefined || found.count <= number) return false;
    if (found.rank === undefined) return { unknown: `the last use of a key of its ${per} is unknown` };
    if (found.rank <= number) return false;
    return { condition: 'more_than', count: found.count, limit: number, per, rank: found.rank };
  };

const creatorLeft: Test = ({ key: { creator, creatorId } }) => {
  if (creator === 'unknown') return { unknown: 'it is unknown whether its creator is still a member' };
  return creator === 'left' && { condition: 'creator_left', creator_id: creatorId };
};

function nameNotMatching(patterns: string[]): Test {
  const tests = patterns.map(makeGlobTest);
  return ({ key }) => {
    const name = key.lineage?.name ?? key.name;
    return !tests.some((test) => test(name)) && { condition: 'name_not_matching', limit: patterns, name };
  };
}

const reviewedOut: Test = ({ key: { reviewedOut: decided } }) => {
  if (decided === undefined) return false;
  const { by, at, reason, review } = decided;
  return { by, condition: 'reviewed_out', decided_at: at, reason, review };
};

function usedOutside(networks: string[]): Test {
  const isInside = makeNetworkTest(networks);
  return ({ key: { use, addresses = [] } }) => {
    const last = use.state === 'used' && use.from !== null ? [use.from] : [];
    const clients = [...new Set([...last, ...addresses.map(({ address }) => address)].map(clientAddress))];
    const outside = clients.filter((address) => isInside(address) === false).toSorted();
    if (outside.length > 0) return { addresses: outside, condition: 'used_outside', limit: networks };
    return (
      clients.some((address) => isInside(address) === undefined) && {
        unknown: 'an address that used it cannot be read',
      }
    );
  };
}

/**
 * Flags an organization key that a project key could probably replace. Upstream does not show what a key does. So the organization must have only one
 * project, or the key's name must name exactly one.
 */
const unscoped: Test = ({ key, scope: { projects = [] } }) => {
  if (key.kind !== 'organization' || key.use.state !== 'used') return false;
  if (projects === null) return { unknown: 'not all projects of its organization are known' };
  const [only] = projects;
  if (only !== undefined && projects.length === 1)
    return { by: 'only_project', condition: 'unscoped', project_id: only.id };
  const named = projects.filter(({ id, name }) => key.name.includes(id) || (name !== '' && hasWord(key.name, name)));
  const [one] = named;
  return one !== undefined && named.length === 1 && { by: 'name', condition: 'unscoped', project_id: one.id };
};

/** Returns whether a text has a word: letters and digits on neither side of it. */
function hasWord(text: string, word: string): boolean {
  const [within, wanted] = [text.toLowerCase(), word.toLowerCase()];
  const isLetter = (character: string | undefined) => character !== undefined && /[\p{L}\p{N}]/u.test(character);
  for (let at = within.indexOf(wanted); at >= 0; at = within.indexOf(wanted, at + 1))
    if (!isLetter(within[at - 1]) && !isLetter(within[at + wanted.length])) return true;
  return false;
}

function allOf(tests: Test[]): Test {
  return (timed) => {
    const { known, unknown, isDenied } = judgeParts(tests, timed);
    return !isDenied && (unknown ?? { condition: 'all', of: known });
  };
}

function anyOf(tests: Test[]): Test {
  return (timed) => {
    const { known, unknown } = judgeParts(tests, timed);
    return known.length > 0 ? { condition: 'any', of: known } : (unknown ?? false);
  };
}

/** Returns the evidence of the parts that hold, the first unknown result, and whether any part does not hold. */
function judgeParts(tests: Test[], timed: TimedKey) {
  const known: Evidence[] = [];
  let unknown: Unknown | undefined;
  let isDenied = false;
  for (const test of tests) {
    const result = test(timed);
    if (result === false) isDenied = true;
    else if (isUnknown(result)) unknown ??= result;
    else known.push(result);
  }
  return { known, unknown, isDenied };
}

function negate(condition: Condition, test: Test): Test {
  const of = conditionInWords(condition);
  return (timed) => {
    const result = test(timed);
    if (result === false) return { condition: 'not', of };
    return isUnknown(result) && result;
  };
}
