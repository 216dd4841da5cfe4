import { toMs } from '../wire/index.ts';
import { restsOnUse } from './condition-schema.ts';
import type { Duration } from './duration.ts';
import { type Finding, findingsOf, type Judgement } from './evaluate.ts';
import { exemptionOf, type Facts, type KeyFacts } from './facts.ts';
import type { Verdict } from './guard.ts';
import type { Action, Rule } from './schema.ts';

/**
 * When the grace of a finding is over, by the notices that were accepted: each gives at least its own time, from when it was
 * accepted (R9). Null while one is `missing`; a rule without notices gives none.
 */
export function graceEnd({ rule, key }: Finding): { endMs: number | null; missing: string | null } {
  const accepted = acceptedSteps(key, rule);
  const missing = rule.notices.find(({ text }) => !accepted.has(text));
  if (missing !== undefined) return { endMs: null, missing: missing.text };
  return { endMs: latestEnd(rule.notices, accepted), missing: null };
}

/** What a finding rests on that, changed, makes it another finding: for one on use, the use. */
function basisOf({ key: { use } }: Pick<Finding, 'key'>, rule: Rule): string {
  if (!restsOnUse(rule.condition)) return '';
  return use.state === 'used' ? use.at : use.state;
}

function acceptedSteps(key: KeyFacts, rule: Rule): Map<string, number> {
  const basis = basisOf({ key }, rule);
  const found = key.announcements.find(
    (announcement) => announcement.rule === rule.name && announcement.basis === basis,
  );
  return new Map(found?.accepted.map(({ step, at }) => [step, toMs(at)]));
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
  /** When the key may go at the earliest, if this notice is accepted now; null where nothing follows. */
  mayGoAtMs: number | null;
  finding: Finding;
}

/** The step of a finding whose action is to notify. */
const onceStep = 'once';

/** Which notices are due: of each rule the next step of those that condemn a key, and once for those that only notify. Pure. */
export function dueNotices({ verdicts, judgements }: Judged): DueNotice[] {
  const announced = verdicts
    .filter(({ held }) => held === null || held.kind === 'unannounced' || held.kind === 'over_quota')
    .flatMap(({ announcing }) => announcing.flatMap(nextStep));
  const told = findingsOf({ judgements })
    .filter(({ rule, key }) => rule.action === 'notify' && exemptionOf(key, rule.name) === undefined)
    .filter(({ rule, key }) => !acceptedSteps(key, rule).has(onceStep));
  return [...announced, ...told.map((finding): DueNotice => ({ ...nameOf(finding), step: onceStep, mayGoAtMs: null }))];
}

const nameOf = (finding: Finding) => ({
  key: finding.key,
  rule: finding.rule.name,
  basis: basisOf(finding, finding.rule),
  action: finding.rule.action,
  finding,
});

/** The longest is due at once; each shorter one when so much is left of the grace that the longer ones gave. */
function nextStep(finding: Finding): DueNotice[] {
  const { rule, key, nowMs } = finding;
  const accepted = acceptedSteps(key, rule);
  const index = rule.notices.findIndex(({ text }) => !accepted.has(text));
  const step = rule.notices[index];
  if (step === undefined) return [];
  const endMs = latestEnd(rule.notices.slice(0, index), accepted);
  if (index > 0 && nowMs < endMs - step.ms) return [];
  return [{ ...nameOf(finding), step: step.text, mayGoAtMs: Math.max(endMs, nowMs + step.ms) }];
}

/** Holds that last no longer than it takes to list again, or that wait for what was announced. */
const standing = ['unannounced', 'over_quota', 'stale_evidence', 'seen_once'];

/**
 * Announcements whose finding stands no more, by key and rule: what was announced and comes back later is announced anew. Those of
 * scopes that nobody could judge stand.
 */
export function lapsedAnnouncements(facts: Facts, { verdicts, judgements }: Judged): { key: KeyFacts; rule: string }[] {
  const nameOfOne = (key: KeyFacts, rule: string, basis: string) => JSON.stringify([key.number, rule, basis]);
  const stands = new Set(
    [
      ...verdicts
        .filter(({ held }) => held === null || standing.includes(held.kind))
        .flatMap(({ findings: own, announcing }) => (announcing.length > 0 ? announcing : own)),
      ...findingsOf({ judgements }).filter(
        ({ rule, key }) => rule.action === 'notify' && exemptionOf(key, rule.name) === undefined,
      ),
    ].map((finding) => nameOfOne(finding.key, finding.rule.name, basisOf(finding, finding.rule))),
  );
  const judged = new Set(facts.scopes.filter(({ nowMs }) => nowMs !== null).map(({ scope }) => scope));
  return facts.keys
    .filter(({ scope }) => judged.has(scope))
    .flatMap((key) =>
      key.announcements
        .filter(({ rule, basis }) => !stands.has(nameOfOne(key, rule, basis)))
        .map(({ rule }) => ({ key, rule })),
    );
}
