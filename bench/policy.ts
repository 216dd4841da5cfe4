import { type Facts, type KeyFacts, makePlan, policySchema } from '@keywarden/core/policy';
import { count, residentMb, timed } from './measure.ts';

const nowMs = Date.UTC(2026, 5, 1);
const dayMs = 86_400_000;

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

/** Judges 10,000 keys, what an account should stay under, by 12 rules, and ten times as many: the yardstick is linear growth. */
export async function benchPolicy(): Promise<void> {
  await timed(() => makePlan(policy, makeFacts(1000)));
  const small = await measure(10_000);
  const large = await measure(100_000);
  console.log(`yardstick  ten times the keys took ${(large / small).toFixed(1)} times as long; linear is 10`);
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
      createdAt: new Date(nowMs - 500 * dayMs).toISOString(),
      use: index % 4 === 0 ? { state: 'never' } : { state: 'used', at, from: '203.0.113.7' },
    };
  });
  const scopes = [...new Set(keys.map((key) => key.scope))].map((scope) => ({
    scope,
    listedAt: new Date(nowMs).toISOString(),
    nowMs,
    unknownOwnKey: [],
  }));
  return { keys, scopes, ownKeys: [{ connection: 'main', keyId: '0' }], revokedLastDay: 0 };
}
