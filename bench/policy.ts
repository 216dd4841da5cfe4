import { type Facts, type KeyFacts, makePlan, policySchema } from '@keywarden/core/policy';
import { count, residentMb, timed } from './measure.ts';

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

/**
 * Judges 10,000 keys, what an account should stay under, by 12 rules, then ten and a hundred times as many: the yardstick is linear
 * growth. The first is the median of rounds after others that warm up.
 */
export async function benchPolicy(): Promise<void> {
  for (let round = 0; round < 3; round += 1) makePlan(policy, makeFacts(10_000));
  const rounds: number[] = [];
  const facts = makeFacts(10_000);
  for (let round = 0; round < 9; round += 1) rounds.push((await timed(() => makePlan(policy, facts))).seconds);
  const small = rounds.toSorted((a, b) => a - b)[4] ?? Number.NaN;
  console.log(`plan       10,000 keys by ${policy.rules.length} rules: ${Math.round(small * 1000)} ms, median of 9`);
  for (const times of [10, 100]) {
    const large = await measure(10_000 * times);
    console.log(
      `yardstick  ${times} times the keys took ${(large / small).toFixed(1)} times as long; linear is ${times}`,
    );
  }
  console.log(`resident   ${residentMb()} MB`);
}

async function measure(keys: number): Promise<number> {
  const facts = makeFacts(keys);
  const { seconds, result } = await timed(() => makePlan(policy, facts));
  const findings = count(result.findings.length);
  console.log(
    `plan       ${count(keys)} keys by ${policy.rules.length} rules: ${Math.round(seconds * 1000)} ms, ${findings} findings`,
  );
  return seconds;
}

function makeFacts(count: number): Facts {
  const keys = Array.from({ length: count }, (_, index): KeyFacts => {
    const organization = `org-${index % 40}`;
    const at = new Date(nowMs - ((index * 7919) % 400) * dayMs).toISOString();
    return {
      number: String(index + 1),
      scope: `1/organization:${organization}`,
      id: String(index + 1),
      kind: 'organization',
      name: `key ${index}`,
      organizationId: organization,
      projectId: null,
      creatorId: `user-${index % 1500}`,
      creatorName: null,
      creator: 'member',
      owner: `user-${index % 1500}`,
      createdAt: new Date(nowMs - 500 * dayMs).toISOString(),
      use: index % 4 === 0 ? { state: 'never' } : { state: 'used', at, from: '203.0.113.7' },
      presentSince: seenAt,
      firstSeenAt: seenAt,
      exemptions: [],
      announcements: [],
      isAcknowledged: false,
    };
  });
  const scopes = [...new Set(keys.map((key) => key.scope))].map((scope) => ({
    scope,
    listedAt: new Date(nowMs).toISOString(),
    priorListedAt: seenAt,
    hourPriorListedAt: seenAt,
    nowMs,
    unknownOwnKey: [],
    unattended: [],
    openIncidents: 0,
    unseenMembers: 0,
  }));
  return { keys, scopes, ownKeys: [{ connection: 'main', keyId: '0' }], revokedLastDay: 0 };
}
