import type { CredentialKind } from '../wire/kinds.ts';

/** What is known of a key's use. A last use that went backwards is unknown: something upstream is wrong. */
export type Use = { state: 'used'; at: string; from: string | null } | { state: 'never' } | { state: 'unknown' };

/** A live key as decisions see it. `number` is the store's own; times are RFC 3339. */
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
  /** Whether the creator is a member of the key's organization; unknown until two complete listings of its members say the same. */
  creator: 'member' | 'left' | 'unknown';
  /** Who answers for the key: its creator, unless it was assigned otherwise. */
  owner: string;
  createdAt: string;
  /** What it says of its creation cannot be: a zero time, one to come, or one before its organization was there. */
  isCreationUnknown?: boolean;
  /** Its id was another key's, and no person has looked at that. */
  isInQuestion?: boolean;
  /** Another scope whose list shows the very same record; a key is of one scope. */
  otherScope?: string;
  use: Use;
  /** Absent for one that does not expire, as no API key does. */
  expiresAt?: string;
  /** Absent for what is of no branch. */
  branchId?: string;
  /** From which addresses it was used of late, with the last time of each; absent where no rule asks. */
  addresses?: { address: string; at: string }[];
  /** Since which listing every believed one has shown it. */
  presentSince: string;
  /** When a listing showed it for the first time. */
  firstSeenAt: string;
  exemptions: Exemption[];
  /** Its announced revocations, by rule. */
  announcements: Announcement[];
  /** A person has applied a plan that flags it: it does not count for the breaker any more. */
  isAcknowledged: boolean;
  /** An attempt to revoke it was refused in the last days: others go before it. */
  hasFailedLately: boolean;
  /** The newest signed access review that looked at it wants it gone; absent otherwise. */
  reviewedOut?: { review: string; by: string; at: string; reason: string };
  /** Absent for a key that no rotation has to do with. */
  lineage?: Lineage;
}

/** What rotations have made of a key. */
export interface Lineage {
  /** The store's number of its first key. */
  number: string;
  /** Who created the first key of the lineage: its successors are created by us, and count as theirs. */
  creatorId: string;
  /** And its name: rotations add to those of successors. */
  name: string;
  /** The open rotation, in which the key is the old one or the successor. */
  rotation: { id: string; role: 'old' | 'successor' } | null;
}

/** A person's exception from rules, in force; `rules` null means all. */
export interface Exemption {
  number: string;
  rules: string[] | null;
  reason: string;
  grantedBy: string;
  until: string;
}

/** Whether rules may judge the key's age. */
export const isCreationKnown = ({ isCreationUnknown }: Pick<KeyFacts, 'isCreationUnknown'>) =>
  isCreationUnknown !== true;

/** The exemption that covers a rule for a key. */
export function exemptionOf({ exemptions }: KeyFacts, rule: string): Exemption | undefined {
  return exemptions.find(({ rules }) => rules === null || rules.includes(rule));
}

/** Which notices of a rule every channel has accepted, and when the last of them did, by the control plane's clock. */
export interface Announcement {
  rule: string;
  /** The use that the finding rested on when it was announced: another use is another finding. */
  basis: string;
  accepted: { step: string; at: string }[];
}

/** What is known of a scope: its last complete listings, who sees it without knowing its own key, and what was done there. */
export interface ScopeFacts {
  scope: string;
  /** RFC 3339 by the control plane's own Date. */
  listedAt: string;
  /** The complete listing right before the last one, which had ended when that began; null if it was doubted, or there was none. */
  priorListedAt: string | null;
  /** The youngest such listing that lies at least an hour before the last, with no doubted one since. */
  hourPriorListedAt: string | null;
  /** The control plane's present by its own Date, in ms; null when our clock and its disagree by more than allowed. */
  nowMs: number | null;
  /** Connections that see the scope, or may, and whose own key is not known. */
  unknownOwnKey: string[];
  /** When keys were revoked here without a person, under the policy in force. */
  automatic: string[];
  /** Keys that one listing lacks by now, and those that went in the last 24 hours: they count where a scope's size does. */
  missing: number;
  goneLately: number;
  /** Uses in flight in this scope that nobody has closed. */
  openIncidents: number;
  /** The organization's projects; absent where no rule asks. */
  projects?: { id: string; name: string }[];
  /** Members whose personal keys no connection can list; null where the members are not known. */
  unseenMembers: number | null;
}

/** Everything that a judgement rests on. */
export interface Facts {
  keys: KeyFacts[];
  scopes: ScopeFacts[];
  /** The own keys of all connections that were ever configured, as far as they are known. */
  ownKeys: { connection: string; keyId: string }[];
  /** Keys that were revoked, or begun to be, in the last 24 hours, whatever the plan. */
  revokedLastDay: number;
}
