import { exemptionOf, type Facts, identityHold, modeOf, type Policy } from '@keywarden/core/policy';
import { toMs } from '@keywarden/core/wire';
import type { StoredRotation } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import { ownUsers } from './settings.ts';

/** What keeps every key of a scope from being revoked at this moment, whatever says that it may go (R1, R2, R3, R5). */
export function whyScopeHolds({ quotas, max_evidence_age: maxAge }: Policy, facts: Facts, name: string): string | null {
  const scope = facts.scopes.find((each) => each.scope === name);
  if (scope === undefined || scope.nowMs === null) return 'the control plane’s time is not known well enough';
  if (!(scope.nowMs - toMs(scope.listedAt) <= maxAge.ms)) return 'its last complete listing is too old';
  if (scope.openIncidents > 0) return 'an incident of its scope is open; see keywarden incidents';
  const [unknown] = scope.unknownOwnKey;
  if (unknown !== undefined)
    return `connection ${unknown} sees this scope and its own key is not known; set its key_id`;
  const { per_day: perDay } = quotas;
  return perDay !== undefined && facts.revokedLastDay >= perDay
    ? `at most ${perDay} keys are revoked in 24 hours`
    : null;
}

/** What is known of the key may be of another: its id was another key's, or two scopes show it. */
export function whyInQuestion({ keys }: Facts, number: string): string | null {
  const key = keys.find((each) => each.number === number);
  return key === undefined ? null : (identityHold(key)?.text ?? null);
}

/** R2: a connection's own key goes only by its own rotation, and when every connection that takes its key from there works with another. */
export function whoUses(
  facts: Facts,
  { key, sink }: Pick<StoredRotation, 'key' | 'sink'>,
  connections: Connection[],
): string | undefined {
  const using = connections.find(
    ({ ownKeyId, controlPlane }) => ownKeyId === key.id && controlPlane === key.controlPlane,
  );
  if (using !== undefined) return using.name;
  const own = new Set(ownUsers(sink, connections).map(({ name }) => name));
  return facts.ownKeys.find(({ keyId, connection }) => keyId === key.id && !own.has(connection))?.connection;
}

/** R6: what the policy began by itself it must want still, to the last step. A person's wish is a person's. */
export function whyUnwanted(policy: Policy, facts: Facts, { key, rule: name, via }: StoredRotation): string | null {
  if (via !== 'policy') return null;
  const rule = policy.rules.find((each) => each.name === name && each.rotation !== undefined);
  if (rule === undefined || rule.mode !== 'enforce') return `rule ${name} rotates nothing by itself any more`;
  const known = facts.keys.find(({ number }) => number === key.number);
  if (known === undefined) return 'the last listing does not show it';
  if (modeOf(policy, known) !== 'enforce') return 'its organization is not in mode: enforce any more';
  const exemption = exemptionOf(known, rule.name);
  return exemption === undefined
    ? null
    : `it is exempt from ${rule.name} until ${exemption.until}: ${exemption.reason}`;
}
