import type { CredentialKind } from '../wire/kinds.ts';

/**
 * The recorded use of a key. A last use that went backwards or is in the future is unknown, because the upstream data is wrong. Of a past time, the
 * use is unknown if no listing shows it (`unobserved`); `since` is then the newest use that is known.
 */
export type Use =
  | { state: 'used'; at: string; from: string | null }
  | { state: 'never' }
  | { state: 'unknown'; unobserved?: { since: string | null } };

/** A live key as decisions see it. `number` is the store's own number; times are RFC 3339. */
export interface KeyFacts {
  number: string;
  /** The control plane and, within it, the account or organization that the key belongs to. */
  scope: string;
  id: string;
  kind: CredentialKind;
  name: string;
  organizationId: string | null;
  projectId: string | null;
  creatorId: string;
  creatorName: string | null;
  /** Whether the creator is a member of the key's organization. Unknown until two complete listings of its members agree. */
  creator: 'member' | 'left' | 'unknown';
  /** Who answers for the key: its creator unless assigned otherwise. */
  owner: string;
  createdAt: string;
  /** True if the recorded creation time is impossible: a zero time, a future time, or one before its organization existed. */
  isCreationUnknown?: boolean;
  /** True if its id belonged to another key, and no person has reviewed that. */
  hasOpenKeyChange?: boolean;
  /** Another scope whose listing shows the same record. A key belongs to one scope. */
  otherScope?: string;
  use: Use;
  /** Absent if it does not expire, as for every API key. */
  expiresAt?: string;
  /** Absent if the credential belongs to no branch. */
  branchId?: string;
  /** The addresses of its recent use, with the last time of each; absent if no rule needs them. */
  addresses?: { address: string; at: string }[];
  /** The time of the listing since which every trusted listing has shown it. */
  presentSince: string;
  /** When a listing first showed it. */
  firstSeenAt: string;
  exemptions: Exemption[];
  /** The announcements of its revocation, by rule. */
  announcements: Announcement[];
  /** True if a person has applied a plan that flags it. It then no longer counts for the breaker. */
  isAcknowledged: boolean;
  /** True if an attempt to revoke it was refused in the last days. Other keys are then revoked first. */
  hasFailedLately: boolean;
  /**
   * The revoke decision of the newest signed access review that covers it; absent otherwise. `isSignerRevoked`: the token that signed the review was revoked
   * since.
   */
  reviewedOut?: { review: string; by: string; at: string; reason: string; isSignerRevoked?: boolean };
  /** Absent for a key without rotations. */
  lineage?: Lineage;
}

/** The lineage of a key that was rotated. */
export interface Lineage {
  /** The store's number of the first key of the lineage. */
  number: string;
  /** The creator of the first key of the lineage. Keywarden creates the successors, and they count as this creator's keys. */
  creatorId: string;
  /** The name of the first key. Rotations add to the names of successors. */
  name: string;
  /** The open rotation that the key belongs to, as the old key or as the successor. */
  rotation: { id: string; role: 'old' | 'successor' } | null;
}

/** An active exception from rules that a person granted; `rules` null means all rules. */
export interface Exemption {
  number: string;
  rules: string[] | null;
  reason: string;
  grantedBy: string;
  until: string;
}

/** Returns whether rules may judge the key's age. */
export const isCreationKnown = ({ isCreationUnknown }: Pick<KeyFacts, 'isCreationUnknown'>) =>
  isCreationUnknown !== true;

/** Returns the exemption that covers a rule for a key. */
export function exemptionOf({ exemptions }: KeyFacts, rule: string): Exemption | undefined {
  return exemptions.find(({ rules }) => rules === null || rules.includes(rule));
}

/** The notices of a rule that every channel has accepted. `at` is the time of the last acceptance, by the control plane's clock. */
export interface Announcement {
  rule: string;
  /** The facts that the finding rested on when it was announced. A change of these facts makes another finding. */
  basis: string;
  accepted: { step: string; at: string }[];
}

/** Returns the number of the control plane of a scope as facts name it, such as `3/user:ID`. */
export const controlPlaneOf = (scope: string): string => scope.slice(0, scope.indexOf('/'));

/** The facts of a scope: its last complete listings, connections whose own key is unknown, and recent revocations. */
export interface ScopeFacts {
  scope: string;
  /** RFC 3339 by the control plane's own Date. */
  listedAt: string;
  /** The complete listing directly before the last one, which ended before the last one began. Null if it was suspect, or there was none. */
  priorListedAt: string | null;
  /** The newest complete listing at least an hour before the last one, with no suspect listing since. */
  hourPriorListedAt: string | null;
  /** The control plane's current time by its own Date, in ms; null if our clock differs by more than allowed. */
  nowMs: number | null;
  /** Connections that see the scope, or may see it, and whose own key is unknown. */
  unknownOwnKey: string[];
  /** The times of automatic revocations in this scope under the policy in force. */
  automatic: string[];
  /** Keys that are missing from one listing so far. `goneLately` counts keys that went in the last 24 hours. Both count towards a scope's size. */
  missing: number;
  goneLately: number;
  /** Open incidents of uses in flight in this scope. */
  usesInFlight: number;
  /** The organization's projects; absent if no rule needs them, null if some are not known. */
  projects?: { id: string; name: string }[] | null;
  /** The number of members whose personal keys no connection can list; null if the members are unknown. */
  unseenMembers: number | null;
}

/** Of a scope in which nothing has happened and nothing is known. */
export const nothingOfScope: Omit<ScopeFacts, 'scope'> = {
  listedAt: '',
  priorListedAt: null,
  hourPriorListedAt: null,
  nowMs: null,
  unknownOwnKey: [],
  automatic: [],
  missing: 0,
  goneLately: 0,
  usesInFlight: 0,
  unseenMembers: null,
};

/** A key that a connection uses. `otherKeys`: the numbers of keys with this id that are certainly other keys, of other control planes. */
export interface OwnKey {
  connection: string;
  keyId: string;
  otherKeys?: string[];
}

/** Returns whether a key is this own key, at any address of its control plane. */
export const isOwn = ({ keyId, otherKeys }: OwnKey, { id, number }: Pick<KeyFacts, 'id' | 'number'>) =>
  keyId === id && otherKeys?.includes(number) !== true;

/** All facts that a judgement rests on. */
export interface Facts {
  keys: KeyFacts[];
  scopes: ScopeFacts[];
  /** The known own keys of all connections that were ever configured. */
  ownKeys: OwnKey[];
  /** Keys whose revocation was done or begun in the last 24 hours, under any plan. */
  revokedLastDay: number;
}
