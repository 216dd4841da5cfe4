import type { KeyKind } from './schema.ts';

/** What is known of a key's use. A last use that went backwards is unknown: something upstream is wrong. */
export type Use = { state: 'used'; at: string; from: string | null } | { state: 'never' } | { state: 'unknown' };

/** A live key as decisions see it. `number` is the store's own; times are RFC 3339. */
export interface KeyFacts {
  number: string;
  /** The control plane and, within it, the account or organization that the key belongs to. */
  scope: string;
  id: string;
  kind: KeyKind;
  name: string;
  organizationId: string | null;
  projectId: string | null;
  creatorId: string;
  creatorName: string | null;
  /** Whether the creator is a member of the key's organization; unknown until two complete listings of its members say the same. */
  creator: 'member' | 'left' | 'unknown';
  createdAt: string;
  use: Use;
}

/** What is known of a scope: its last complete listing, and who sees it without knowing its own key. */
export interface ScopeFacts {
  scope: string;
  /** RFC 3339 by the control plane's own Date. */
  listedAt: string;
  /** The control plane's present by its own Date, in ms; null when our clock and its disagree by more than allowed. */
  nowMs: number | null;
  /** Connections that see the scope, or may, and whose own key is not known. */
  unknownOwnKey: string[];
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
