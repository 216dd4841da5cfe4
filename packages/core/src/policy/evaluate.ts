import { makeGlobTest } from '../values/patterns.ts';
import { keyKinds } from '../wire/index.ts';
import { compile, isUnknown, type Test } from './conditions.ts';
import type { Facts, KeyFacts } from './facts.ts';
import type { Finding, Judgement } from './finding.ts';
import { type RankOf, rankByGroup, sortByUse } from './ranks.ts';
import { modeOf, type Policy, type Rule, reviewRule } from './schema.ts';
import { type Grouping, type TimedKey, toTimedKey } from './timed-key.ts';

/** Returns all findings, key by key. */
export function findingsOf({ judgements }: { judgements: Judgement[] }): Finding[] {
  return judgements.flatMap(({ findings }) => findings);
}

/**
 * Judges every key by every rule. Pure: the same facts, policy and times give the same judgements in the same order, for any order of the keys. Omits
 * keys without findings and unknowns, and keys of a scope whose time is unknown.
 */
export function evaluate(policy: Policy, facts: Facts): Judgement[] {
  const scopes = new Map(facts.scopes.map((scope) => [scope.scope, scope]));
  // Loops instead of flatMap: there may be a million keys, nearly all in one scope and with some findings.
  const timed: TimedKey[] = [];
  for (const key of facts.keys.toSorted((a, b) => Number(a.number) - Number(b.number))) {
    const scope = scopes.get(key.scope);
    if (scope !== undefined && scope.nowMs !== null)
      timed.push(toTimedKey(key, { scope, nowMs: scope.nowMs, index: timed.length }));
  }
  const ranks = makeRanks(timed);
  const matchOf = shareMatches();
  const rules = [
    ...policy.rules.map((rule) => compileRule(rule, { ranks, matchOf })),
    ...compileReviewRule(policy, facts),
  ];
  const judgements: Judgement[] = [];
  for (const each of timed) {
    const judgement = judgeKey(rules, each, modeOf(policy, each.key) === 'enforce');
    if (judgement.findings.length + judgement.unknowns.length > 0) judgements.push(judgement);
  }
  return judgements;
}

interface CompiledRule {
  rule: Rule;
  matches: (timed: TimedKey) => boolean;
  test: Test;
}

function compileRule(rule: Rule, { ranks, matchOf }: { ranks: Ranks; matchOf: typeof makeMatch }): CompiledRule {
  const matches = matchOf(rule);
  return { rule, matches, test: compile(rule.condition, (per) => ranks(per, matches)) };
}

/** Returns a `makeMatch` that gives rules with the same match one function. Such rules in a row match a key once, and their ranks are computed once. */
function shareMatches(): typeof makeMatch {
  const made = new Map<string, ReturnType<typeof makeMatch>>();
  return (rule) => {
    const name = JSON.stringify(rule.match);
    const matches = made.get(name) ?? makeMatch(rule);
    made.set(name, matches);
    return matches;
  };
}

/** Returns the rule of access reviews, for keys that no `reviewed_out` rule of the policy matches. Returns no rule if no review has decided anything. */
function compileReviewRule({ rules }: Policy, { keys }: Facts): CompiledRule[] {
  if (keys.every((key) => key.reviewedOut === undefined)) return [];
  const own = rules.filter(({ condition }) => condition.reviewed_out !== undefined).map(makeMatch);
  const noRanks = () => () => undefined;
  const matches = (timed: TimedKey) => !own.some((isMatch) => isMatch(timed));
  return [{ rule: reviewRule, matches, test: compile(reviewRule.condition, noRanks) }];
}

type Ranks = (per: Grouping, matches: CompiledRule['matches']) => RankOf;

/** Returns a function that ranks keys once for all rules that match the same keys. */
function makeRanks(timed: TimedKey[]): Ranks {
  let scopes: TimedKey[][] | undefined;
  const made = new Map<CompiledRule['matches'], Map<Grouping, RankOf>>();
  return (per, matches) => {
    scopes ??= sortByUse(timed);
    const ofMatch = made.get(matches) ?? new Map<Grouping, RankOf>();
    made.set(matches, ofMatch);
    const ranks = ofMatch.get(per) ?? rankByGroup(scopes, { count: timed.length, per, matches });
    ofMatch.set(per, ranks);
    return ranks;
  };
}

function judgeKey(rules: CompiledRule[], timed: TimedKey, mayEnforce: boolean): Judgement {
  const { key, nowMs } = timed;
  const findings: Finding[] = [];
  let unknowns: Judgement['unknowns'] = none;
  let last: CompiledRule['matches'] | undefined;
  let isMatch = false;
  for (const { rule, matches, test } of rules) {
    if (matches !== last) isMatch = matches(timed);
    last = matches;
    const result = isMatch && test(timed);
    if (result === false) continue;
    const isEnforced = mayEnforce && rule.mode === 'enforce';
    if (!isUnknown(result)) findings.push({ rule, key, nowMs, evidence: result, isEnforced });
    else if (rule.action === 'revoke') unknowns = [...unknowns, { rule, why: result.unknown }];
  }
  return { timed, key, findings, unknowns };
}

/** Shared by nearly all keys, which have no unknowns. */
const none: Judgement['unknowns'] = [];

/** Returns a test whether a rule matches a key. */
export function makeMatch({ match }: Rule): (judged: Pick<TimedKey, 'key'>) => boolean {
  const isIn = (wanted: string[] | undefined, valueOf: (key: KeyFacts) => string | null) => {
    const set = new Set<string | null>(wanted);
    return wanted === undefined ? [] : [(key: KeyFacts) => set.has(valueOf(key))];
  };
  const hasName = match.name === undefined ? undefined : makeGlobTest(match.name);
  const tests = [
    // Only a rule that names their kind matches credentials other than API keys.
    ...isIn(match.kinds ?? [...keyKinds], (key) => key.kind),
    ...isIn(match.organizations, (key) => key.organizationId),
    ...isIn(match.projects, (key) => key.projectId),
    ...isIn(match.creators, (key) => key.lineage?.creatorId ?? key.creatorId),
    ...isIn(match.owners, (key) => key.owner),
    ...(hasName === undefined ? [] : [(key: KeyFacts) => hasName(key.lineage?.name ?? key.name)]),
  ];
  return ({ key }) => tests.every((test) => test(key));
}
