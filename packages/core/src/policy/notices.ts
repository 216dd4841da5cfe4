import { dayMs } from '../values/index.ts';
import { type Duration, toMs } from '../values/time.ts';
import { findingsOf } from './evaluate.ts';
import { conditionInWords } from './explain.ts';
import { exemptionOf, type Facts, type KeyFacts } from './facts.ts';
import type { Finding, Judgement } from './finding.ts';
import type { Verdict } from './holds.ts';
import type { Action } from './schema.ts';

/**
 * Returns when the grace period of a finding ends (R9). Each notice gives at least its own duration from its acceptance. `endMs` is null while a
 * notice is `missing`; a rule without notices gives no grace period.
 */
export function graceEnd(finding: Finding): { endMs: number | null; missing: string | null } {
  const { rule } = finding;
  const accepted = acceptedSteps(finding);
  const missing = rule.notices.find(({ text }) => !accepted.has(text));
  if (missing !== undefined) return { endMs: null, missing: missing.text };
  return { endMs: latestEnd(rule.notices, accepted), missing: null };
}

/**
 * Returns the facts whose change makes a finding a new one that must be announced again: the owner, the rule's condition, and whether it is
 * enforced. For a rule that does not revoke keys in use, also the use.
 */
export function basisOf({ key: { use, owner }, rule, isEnforced }: Omit<Finding, 'nowMs' | 'evidence'>): string {
  const isOnUse = rule.action === 'revoke' && !rule.even_in_use;
  const used = use.state === 'used' ? use.at : use.state;
  return JSON.stringify([
    owner,
    conditionInWords(rule.condition),
    isOnUse ? used : null,
    ...(isEnforced ? ['enforce'] : []),
  ]);
}

/** A revocation that does not happen within this time of its announcement is announced again. */
const renewedAfterMs = 90 * dayMs;

function acceptedSteps({ key, rule, nowMs, isEnforced }: Finding): Map<string, number> {
  const own = key.announcements.filter((announcement) => announcement.rule === rule.name);
  if (own.length === 0) return new Map();
  const basis = basisOf({ key, rule, isEnforced });
  const found = own.find((announcement) => announcement.basis === basis);
  const accepted = new Map(found?.accepted.map(({ step, at }) => [step, toMs(at)]));
  return rule.action === 'revoke' && nowMs - latestEnd(rule.notices, accepted) > renewedAfterMs ? new Map() : accepted;
}

function latestEnd(steps: Duration[], accepted: Map<string, number>): number {
  return Math.max(0, ...steps.map((step) => (accepted.get(step.text) ?? Number.NaN) + step.ms));
}

interface Judged {
  verdicts: Verdict[];
  judgements: Judgement[];
}

/** A notice that is due now. `step` is its lead time, or the name of an action that notifies once. */
export interface DueNotice {
  key: KeyFacts;
  rule: string;
  basis: string;
  action: Action;
  step: string;
  finding: Finding;
}

/** The step of a finding whose action is to notify. */
const onceStep = 'once';

/** Returns the due notices: the next step of each rule that flags a key, and one for each rule that only notifies. Pure. */
export function dueNotices({ verdicts, judgements }: Judged): DueNotice[] {
  const announced = verdicts
    .filter(({ held }) => held === null || held.kind === 'unannounced' || held.kind === 'over_quota')
    .flatMap(({ announcing }) => announcing.flatMap(nextStep));
  const notified = notifying(judgements).filter((finding) => !acceptedSteps(finding).has(onceStep));
  return [...announced, ...notified.map((finding): DueNotice => ({ ...nameOf(finding), step: onceStep }))];
}

/** Returns the findings of rules that only notify. */
const notifying = (judgements: Judged['judgements']) =>
  findingsOf({ judgements }).filter(
    ({ rule, key }) => rule.action === 'notify' && exemptionOf(key, rule.name) === undefined,
  );

const nameOf = (finding: Finding) => ({
  key: finding.key,
  rule: finding.rule.name,
  basis: basisOf(finding),
  action: finding.rule.action,
  finding,
});

/** Returns the next notice if it is due. The longest is due at once. Each shorter one is due when its own duration is left of the grace period. */
function nextStep(finding: Finding): DueNotice[] {
  const { rule, nowMs } = finding;
  const accepted = acceptedSteps(finding);
  const index = rule.notices.findIndex(({ text }) => !accepted.has(text));
  const step = rule.notices[index];
  if (step === undefined) return [];
  const endMs = latestEnd(rule.notices.slice(0, index), accepted);
  if (nowMs < endMs - step.ms) return [];
  return [{ ...nameOf(finding), step: step.text }];
}

/** Holds that keep an announcement valid: they end with the next listings, a notice or a quota. */
const standing = ['unannounced', 'over_quota', 'stale_evidence', 'seen_once'];

/**
 * Returns announcements whose finding no longer exists, by key and rule. A finding that returns later is announced anew. Announcements stay valid in
 * scopes that could not be judged, and for rules whose result is unknown.
 */
export function lapsedAnnouncements(facts: Facts, { verdicts, judgements }: Judged): { key: KeyFacts; rule: string }[] {
  const nameOfOne = (key: KeyFacts, rule: string, basis: string) => JSON.stringify([key.number, rule, basis]);
  const standingFindings = [
    ...verdicts
      .filter(({ held }) => held === null || standing.includes(held.kind))
      .flatMap(({ findings: own, announcing }) => (announcing.length > 0 ? announcing : own)),
    ...notifying(judgements),
  ];
  const current = new Set(
    standingFindings.filter(isCurrent).map((finding) => nameOfOne(finding.key, finding.rule.name, basisOf(finding))),
  );
  const unknown = new Set(
    judgements.flatMap(({ key, unknowns }) => unknowns.map(({ rule }) => JSON.stringify([key.number, rule.name]))),
  );
  const judged = new Set(facts.scopes.filter(({ nowMs }) => nowMs !== null).map(({ scope }) => scope));
  return facts.keys
    .filter(({ scope }) => judged.has(scope))
    .flatMap((key) =>
      key.announcements
        .filter(({ rule, basis }) => !current.has(nameOfOne(key, rule, basis)))
        .filter(({ rule }) => !unknown.has(JSON.stringify([key.number, rule])))
        .map(({ rule }) => ({ key, rule })),
    );
}

/** Returns whether none of its notices has expired. */
function isCurrent(finding: Finding): boolean {
  const { key, rule } = finding;
  const known = key.announcements.find((each) => each.rule === rule.name && each.basis === basisOf(finding));
  return (known?.accepted.length ?? 0) === acceptedSteps(finding).size;
}
