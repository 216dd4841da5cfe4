import { type Facts, findingsOf, type KeyFacts, makePlan, policySchema } from '@keywarden/core/policy';
import { median, residentMb, timed } from './measure.ts';

// A process that evaluates a number of keys against twelve rules, several times, and reports the duration.

export interface PolicyOrder {
  keys: number;
  /** The number of rounds; the first third is a warm-up and is not counted. */
  rounds: number;
}

export interface PolicyFigures {
  /** The median of the rounds. */
  seconds: number;
  /** The median of writing the same keys as JSON and reading them again. */
  jsonSeconds: number;
  findings: number;
  /** The memory of the whole process when it has its first plan, including its facts. */
  residentMb: number;
}

process.on('message', ({ keys, rounds }: PolicyOrder) => {
  judge(keys, rounds).then(
    (figures) => process.send?.(figures, () => process.disconnect()),
    () => process.exit(1),
  );
});

const nowMs = Date.UTC(2026, 5, 1);
const dayMs = 86_400_000;
const seenAt = new Date(nowMs - dayMs).toISOString();

const policy = policySchema.parse({
  rules: [
    ...[30, 45, 60, 90, 180, 365].map((days) => ({ name: `unused-${days}`, unused_for: `${days}d`, action: 'report' })),
    ...[7, 14, 30].map((days) => ({ name: `never-used-${days}`, never_used_for: `${days}d`, action: 'revoke' })),
    ...[3, 5, 10].map((number) => ({
      name: `number-${number}`,
      more_than: { number, per: 'creator' },
      action: 'report',
    })),
  ],
});

async function judge(keys: number, rounds: number): Promise<PolicyFigures> {
  const facts = makeFacts(keys);
  const seconds: number[] = [];
  const jsonSeconds: number[] = [];
  let findings = 0;
  let resident = 0;
  for (let round = 0; round < rounds; round += 1) {
    // The previous round's garbage must not count as this round's cost.
    gc?.();
    const taken = await timed(() => makePlan(policy, facts));
    if (round === 0) resident = residentMb();
    gc?.();
    const json = await timed(() => (JSON.parse(JSON.stringify(facts.keys)) as unknown[]).length);
    if (round < Math.floor(rounds / 3)) continue;
    seconds.push(taken.seconds);
    jsonSeconds.push(json.seconds);
    findings = findingsOf(taken.result).length;
  }
  return { seconds: median(seconds), jsonSeconds: median(jsonSeconds), findings, residentMb: resident };
}

/** Makes keys as in a large account: 250 per organization, seven per creator, a quarter never used. */
function makeFacts(count: number): Facts {
  const keys = Array.from({ length: count }, (_, index): KeyFacts => {
    const organization = `org-${index % Math.ceil(count / 250)}`;
    const at = new Date(nowMs - ((index * 7919) % 400) * dayMs).toISOString();
    const creator = `user-${index % Math.ceil(count / 7)}`;
    return {
      number: String(index + 1),
      scope: `1/organization:${organization}`,
      id: String(index + 1),
      kind: 'organization',
      name: `key ${index}`,
      organizationId: organization,
      projectId: null,
      creatorId: creator,
      creatorName: null,
      creator: 'member',
      owner: creator,
      createdAt: new Date(nowMs - 500 * dayMs).toISOString(),
      use: index % 4 === 0 ? { state: 'never' } : { state: 'used', at, from: '203.0.113.7' },
      presentSince: seenAt,
      firstSeenAt: seenAt,
      exemptions: [],
      announcements: [],
      isAcknowledged: false,
      hasFailedLately: false,
    };
  });
  const scopes = [...new Set(keys.map((key) => key.scope))].map((scope) => ({
    scope,
    listedAt: new Date(nowMs).toISOString(),
    priorListedAt: seenAt,
    hourPriorListedAt: seenAt,
    nowMs,
    unknownOwnKey: [],
    automatic: [],
    usesInFlight: 0,
    missing: 0,
    goneLately: 0,
    unseenMembers: 0,
  }));
  return { keys, scopes, ownKeys: [{ connection: 'main', keyId: '0' }], revokedLastDay: 0 };
}
