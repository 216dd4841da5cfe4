import { createHash } from 'node:crypto';
import { canonicalJson, sha256 } from '../values/json.ts';
import { type AutomaticVerdict, automatic, type Breaker, openBreakers } from './automatic.ts';
import { evaluate } from './evaluate.ts';
import { exemptionOf, type Facts } from './facts.ts';
import type { Finding, Judgement } from './finding.ts';
import { exemptionInWords, guard, holdOverQuota, inRotation } from './guard.ts';
import type { Hold, Verdict } from './holds.ts';
import { type ApprovedItem, hashItem, type PlanItem, type ShownKey, toItem } from './plan-item.ts';
import type { Policy } from './schema.ts';

/** What no connection can see, and what is therefore in no plan. */
interface BlindSpot {
  kind: 'personal_keys' | 'clock';
  scope: string;
  members: number | null;
}

/** The version of a plan's shape. A plan of another version is not carried out. */
export const planVersion = 3;

/**
 * Findings turned into intended actions. Contains only facts and decisions: the same facts give the same bytes and the same hash. A person approves the
 * items and the breakers under a policy; the rest is shown beside them and may change.
 */
export interface PlanDocument {
  blind_spots: BlindSpot[];
  breakers: Breaker[];
  held: (PlanItem & { why: Hold })[];
  items: ApprovedItem[];
  policy_sha256: string;
  reported: PlanItem[];
  version: typeof planVersion;
}

export interface Plan {
  /** `p-` and the first twelve digits of `approves`: a plan that revokes the same for the same reasons has the same id. */
  id: string;
  /** The SHA-256 of the document. */
  sha256: string;
  /** The SHA-256 of what a person approves. */
  approves: string;
  policySha256: string;
  document: PlanDocument;
  judgements: Judgement[];
  verdicts: Verdict[];
  /** Keys that may be revoked automatically now, and those that still wait. */
  automatic: AutomaticVerdict[];
  /** Returns the document as canonical JSON, which is hashed. It comes in parts, because a million keys are too much for one string. */
  canonical(): Iterable<string>;
}

type Decisions = Pick<Plan, 'judgements' | 'verdicts' | 'automatic'> & { breakers: Breaker[] };

/** Returns what the rules, the guards and the quotas decide for each key. Pure. */
export function judge(policy: Policy, facts: Facts): Decisions {
  const judgements = evaluate(policy, facts);
  const guarded = guard(policy, facts, judgements);
  // A breaker also counts the keys that a quota holds, so the quotas below change none.
  const breakers = openBreakers(policy, facts, guarded);
  const automaticVerdicts = automatic(policy, facts, { verdicts: guarded, breakers });
  // Keys that may be revoked now come before keys that wait for a person. Otherwise the latter would use up the quotas.
  const first = new Set(automaticVerdicts.filter(({ waits }) => waits === null).map(({ verdict }) => verdict.key));
  const verdicts = holdOverQuota(policy, facts, { verdicts: guarded, first });
  const ended = new Map(verdicts.map((verdict) => [verdict.key, verdict]));
  return {
    breakers,
    judgements,
    verdicts,
    automatic: automaticVerdicts.map((each) => {
      const verdict = ended.get(each.verdict.key) ?? each.verdict;
      return verdict.held === null
        ? { ...each, verdict }
        : { verdict, findings: [], waits: each.waits ?? verdict.held.text };
    }),
  };
}

/** Returns the plan of a policy and facts: judged, guarded and hashed. Pure. */
export function makePlan(policy: Policy, facts: Facts): Plan {
  const decisions = judge(policy, facts);
  const outline = makeOutline(policy, facts, decisions);
  const hash = createHash('sha256');
  for (const part of writeCanonical(outline)) hash.update(part);
  const digest = hash.digest('hex');
  const { policySha256, items } = outline;
  const approves = hashApproved(
    outline,
    items.map((item) => item.sha256),
  );
  let document: PlanDocument | undefined;
  return {
    id: planId(approves),
    sha256: digest,
    approves,
    policySha256,
    get document() {
      document ??= toDocument(outline);
      return document;
    },
    judgements: decisions.judgements,
    verdicts: decisions.verdicts,
    automatic: decisions.automatic,
    canonical: () => writeCanonical(outline),
  };
}

const planId = (approves: string) => `p-${approves.slice(0, 12)}`;

/** Returns whether a document is what a person approves under an id: each hash is computed again from its items. */
export function isApprovedContent(document: PlanDocument, { id, approves }: Pick<Plan, 'id' | 'approves'>): boolean {
  const { policy_sha256: policySha256, breakers, items } = document;
  const found = hashApproved({ policySha256, breakers }, items.map(hashItem));
  return found === approves && planId(found) === id;
}

/** The lines are those of keywarden.derive_plan_of, which makes a part of a plan in the store. */
function hashApproved({ policySha256, breakers }: Pick<Outline, 'policySha256' | 'breakers'>, items: string[]): string {
  const hash = createHash('sha256');
  hash.update(`${planVersion}\n${policySha256}\n`);
  for (const { scope, flagged_sha256: flagged } of breakers) hash.update(`${scope} ${flagged}\n`);
  for (const item of items) hash.update(`\n${item}`);
  return hash.digest('hex');
}

/** The parts of a document. For a million keys the document is built only when it is read. */
interface Outline {
  blindSpots: BlindSpot[];
  breakers: Breaker[];
  held: Held[];
  items: Approved[];
  policySha256: string;
  reported: ShownKey[];
}

type Held = ShownKey & { held: Hold };
type Approved = ShownKey & Pick<ApprovedItem, 'sha256'>;

function makeOutline(
  policy: Policy,
  facts: Facts,
  { breakers, judgements, verdicts }: Omit<Decisions, 'automatic'>,
): Outline {
  const held = verdicts.flatMap(({ key, findings, held: hold }) =>
    hold === null ? [] : [{ key, findings, held: hold }],
  );
  const reported: ShownKey[] = [];
  const flagged = new Set(verdicts.map(({ key }) => key));
  for (const { key, findings } of judgements) {
    // A key with a finding that revokes is flagged.
    if (findings.length === 0 || flagged.has(key)) continue;
    const rotation = inRotation(key);
    const shown = findings.filter((finding) => isReported(finding, rotation));
    const why = { kind: 'exempt', text: exemptionsInWords(findings) } as const;
    if (shown.length > 0) reported.push({ key, findings: shown });
    else held.push({ key, findings, held: why.text === '' && rotation !== null ? rotation : why });
  }
  return {
    blindSpots: findBlindSpots(facts),
    breakers,
    held,
    items: verdicts
      .filter((verdict) => verdict.held === null)
      .map(({ key, findings, kept }) => {
        const shown = { key, findings, kept };
        return { ...shown, sha256: hashItem(toItem(shown)) };
      }),
    policySha256: hashPolicy(policy),
    reported,
  };
}

/** Returns whether a finding is neither exempt nor already in a rotation. */
function isReported({ key, rule }: Finding, rotation: Hold | null): boolean {
  return exemptionOf(key, rule.name) === undefined && (rule.action !== 'rotate' || rotation === null);
}

function exemptionsInWords(findings: Finding[]): string {
  const found = findings.map(({ rule, key }) => exemptionOf(key, rule.name)).filter((each) => each !== undefined);
  return [...new Set(found.map(exemptionInWords))].join('; ');
}

function toDocument({ blindSpots, breakers, held, items, policySha256, reported }: Outline): PlanDocument {
  return {
    blind_spots: blindSpots,
    breakers,
    held: held.map(toHeldItem),
    items: items.map(toApprovedItem),
    policy_sha256: policySha256,
    reported: reported.map(toItem),
    version: planVersion,
  };
}

/** Yields the same document as text. Objects have their names in order, so that the text is canonical; a test compares both. */
function* writeCanonical({ blindSpots, breakers, held, items, policySha256, reported }: Outline): Generator<string> {
  yield `{"blind_spots":${JSON.stringify(blindSpots)},"breakers":${JSON.stringify(breakers)},"held":[`;
  yield* inChunks(held, toHeldItem);
  yield '],"items":[';
  yield* inChunks(items, toApprovedItem);
  yield `],"policy_sha256":${JSON.stringify(policySha256)},"reported":[`;
  yield* inChunks(reported, toItem);
  yield `],"version":${planVersion}}`;
}

const chunkLength = 50;

function* inChunks<T>(values: T[], toJson: (value: T) => object): Generator<string> {
  for (let from = 0; from < values.length; from += chunkLength) {
    const text = JSON.stringify(values.slice(from, from + chunkLength).map(toJson)).slice(1, -1);
    yield from === 0 ? text : `,${text}`;
  }
}

/** Returns what a plan does not see: personal keys of members without a connection here, and scopes whose time is unknown. */
function findBlindSpots({ scopes }: Facts): BlindSpot[] {
  return scopes
    .flatMap(({ scope, unseenMembers, nowMs }): BlindSpot[] => [
      ...(unseenMembers === 0 ? [] : [{ kind: 'personal_keys' as const, members: unseenMembers, scope }]),
      ...(nowMs === null ? [{ kind: 'clock' as const, members: null, scope }] : []),
    ])
    .toSorted((a, b) => (`${a.scope} ${a.kind}` < `${b.scope} ${b.kind}` ? -1 : 1));
}

function toHeldItem(held: Held): PlanDocument['held'][number] {
  return { ...toItem(held), why: held.held };
}

function toApprovedItem({ sha256: hash, ...shown }: Approved): ApprovedItem {
  return { ...toItem(shown), sha256: hash };
}

/** Returns the identity of a policy: the SHA-256 of its canonical JSON. */
export function hashPolicy(policy: Policy): string {
  return sha256(canonicalJson(policy));
}
