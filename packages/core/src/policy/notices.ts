import type { Duration } from '../values/time.ts';
import { toMs } from '../values/time.ts';
import { findingsOf } from './evaluate.ts';
import { conditionInWords } from './explain.ts';
import { exemptionOf, type Facts, type KeyFacts } from './facts.ts';
import type { Finding, Judgement } from './finding.ts';
import type { Verdict } from './holds.ts';
import type { Action } from './schema.ts';

/**
 * When the grace of a finding is over, by the notices that were accepted: each gives at least its own time, from when it was
 * accepted (R9). Null while one is `missing`; a rule without notices gives none.
 */
export function graceEnd(finding: Finding): { endMs: number | null; missing: string | null } {
  const { rule } = finding;
  const accepted = acceptedSteps(finding);
  const missing = rule.notices.find(({ text }) => !accepted.has(text));
  if (missing !== undefined) return { endMs: null, missing: missing.text };
  return { endMs: latestEnd(rule.notices, accepted), missing: null };
}

/**
 * What a finding rests on that, changed, makes it another finding, of which nobody was told: whom to tell, what the rule says, and for
 * a rule that would not revoke a key in use, the use.
 */
export function basisOf({ key: { use, owner }, rule }: Pick<Finding, 'key' | 'rule'>): string {
  const isOnUse = rule.action === 'revoke' && !rule.even_in_use;
  const used = use.state === 'used' ? use.at : use.state;
  return JSON.stringify([owner, conditionInWords(rule.condition), isOnUse ? used : null]);
}

/** A revocation that was announced and did not come for so long is announced again. */
const renewedAfterMs = 90 * 86_400_000;

function acceptedSteps({ key, rule, nowMs }: Finding): Map<string, number> {
  const own = key.announcements.filter((announcement) => announcement.rule === rule.name);
  if (own.length === 0) return new Map();
  const basis = basisOf({ key, rule });
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

/** A notice that is to be sent now. `step` is how far ahead it is, or the name of an action that is told once. */
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

/** Which notices are due: of each rule the next step of those that flag a key, and once for those that only notify. Pure. */
export function dueNotices({ verdicts, judgements }: Judged): DueNotice[] {
  const announced = verdicts
    .filter(({ held }) => held === null || held.kind === 'unannounced' || held.kind === 'over_quota')
    .flatMap(({ announcing }) => announcing.flatMap(nextStep));
  const told = findingsOf({ judgements })
    .filter(({ rule, key }) => rule.action === 'notify' && exemptionOf(key, rule.name) === undefined)
    .filter((finding) => !acceptedSteps(finding).has(onceStep));
  return [...announced, ...told.map((finding): DueNotice => ({ ...nameOf(finding), step: onceStep }))];
}

const nameOf = (finding: Finding) => ({
  key: finding.key,
  rule: finding.rule.name,
  basis: basisOf(finding),
  action: finding.rule.action,
  finding,
});

/** The longest is due at once; each shorter one when so much is left of the grace that the longer ones gave. */
function nextStep(finding: Finding): DueNotice[] {
  const { rule, nowMs } = finding;
  const accepted = acceptedSteps(finding);
  const index = rule.notices.findIndex(({ text }) => !accepted.has(text));
  const step = rule.notices[index];
  if (step === undefined) return [];
  const endMs = latestEnd(rule.notices.slice(0, index), accepted);
  if (index > 0 && nowMs < endMs - step.ms) return [];
  return [{ ...nameOf(finding), step: step.text }];
}

/** Holds that last no longer than it takes to list again, or that wait for what was announced. */
const standing = ['unannounced', 'over_quota', 'stale_evidence', 'seen_once'];

/**
 * Announcements whose finding stands no more, by key and rule: what was announced and comes back later is announced anew. Those of
 * scopes that nobody could judge stand, and those of rules of which nobody can tell.
 */
export function lapsedAnnouncements(facts: Facts, { verdicts, judgements }: Judged): { key: KeyFacts; rule: string }[] {
  const nameOfOne = (key: KeyFacts, rule: string, basis: string) => JSON.stringify([key.number, rule, basis]);
  const standingFindings = [
    ...verdicts
      .filter(({ held }) => held === null || standing.includes(held.kind))
      .flatMap(({ findings: own, announcing }) => (announcing.length > 0 ? announcing : own)),
    ...findingsOf({ judgements }).filter(
      ({ rule, key }) => rule.action === 'notify' && exemptionOf(key, rule.name) === undefined,
    ),
  ];
  const stands = new Set(
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
        .filter(({ rule, basis }) => !stands.has(nameOfOne(key, rule, basis)))
        .filter(({ rule }) => !unknown.has(JSON.stringify([key.number, rule])))
        .map(({ rule }) => ({ key, rule })),
    );
}

/** None of its notices is forgotten for its age. */
function isCurrent(finding: Finding): boolean {
  const { key, rule } = finding;
  const known = key.announcements.find((each) => each.rule === rule.name && each.basis === basisOf(finding));
  return (known?.accepted.length ?? 0) === acceptedSteps(finding).size;
}
