import { type Finding, mayFollowCanary, type Policy } from '../policy/index.ts';
import { countOf, dayMs } from '../values/index.ts';
import { toMs } from '../values/time.ts';

/** The default limit of open rotations. Each adds a key. Stalled rotations wait for a person, and do not count. */
const mostOpen = 100;

/** For this long after a rotation failed, its key gets no other one, by the control plane's clock. */
const restMs = dayMs;

/** What limits the rotations that the policy opens automatically. */
export interface OpeningFacts {
  /** The number of open rotations, without stalled ones. */
  open: number;
  /** The last rotation of each key whose last one failed, by the key's number. */
  failures: ReadonlyMap<string, { at: string; givenUpBy: string | null }>;
  /** Returns when the first successor of a rule in a scope was delivered (RFC 3339): null if one is on its way, undefined if there is none. */
  canaryOf(rule: string, scope: string): string | null | undefined;
}

/** Why a rotation does not open. `isTransient`: another pass may open it. */
interface Refusal {
  whyNot: string;
  isTransient: boolean;
}

/** Counts the rotations of one pass against its limits. */
export interface OpeningLimits {
  /** Returns why no rotation opens for a finding now, or null if one may open. */
  whyNot(finding: Finding): Refusal | null;
  /** Records that a rotation of the finding has begun. */
  take(finding: Finding): void;
}

/**
 * Returns the limits that keep the policy from opening a rotation: the number of open ones, and the result of the key's last one. For each rule and
 * scope one key goes first. The others follow when its successor has been in its sink for `canary_wait` (R6). Reads nothing.
 */
export function openingLimits({ enforcement, quotas }: Policy, facts: OpeningFacts): OpeningLimits {
  const { canary_wait: wait } = enforcement;
  const most = quotas.open_rotations ?? mostOpen;
  const taken = new Set<string>();
  let open = facts.open;
  return {
    whyNot({ key, rule, nowMs }) {
      const failure = facts.failures.get(key.number);
      if (failure?.givenUpBy != null) {
        const whyNot = `${failure.givenUpBy} gave up its last rotation; run keywarden rotate ${key.id} to start another`;
        return { whyNot, isTransient: false };
      }
      if (failure !== undefined && nowMs - toMs(failure.at) < restMs)
        return { whyNot: 'its last rotation failed within a day', isTransient: true };
      if (open >= most)
        return { whyNot: `the policy allows ${countOf(most, 'open rotation')} at once`, isTransient: true };
      const first = facts.canaryOf(rule.name, key.scope);
      if (first === undefined && !taken.has(`${rule.name} ${key.scope}`)) return null;
      if (mayFollowCanary(first == null ? null : toMs(first), { nowMs, waitMs: wait.ms })) return null;
      const whyNot = `one key of its scope goes first, the others ${wait.text} after its successor was delivered`;
      return { whyNot, isTransient: true };
    },
    take({ key, rule }) {
      open += 1;
      taken.add(`${rule.name} ${key.scope}`);
    },
  };
}
