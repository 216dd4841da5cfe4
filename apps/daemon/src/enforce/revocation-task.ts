import type { WireCredential, WireKey } from '@keywarden/core/wire';
import type { RevocationCause, ScopeReference } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Scope } from '../sync/scopes.ts';

// What a revocation is asked for, and what it ends with.

/** The outcome for one key. `skipped`: not called, with the reason. `unknown`: called, and two listings must decide. */
export interface Revocation {
  outcome: 'revoked' | 'skipped' | 'failed' | 'unknown';
  why: string | null;
  /** Whether the key was used after it was judged (R5). */
  usedInFlight: boolean;
  /** Whether another try would end the same way, as far as is known. */
  isFinal: boolean;
  /** The control plane was busy and did nothing. How long it asks to wait before another try, in ms. */
  retryAfterMs?: number;
}

/** Why a key is not revoked. */
export interface Skip {
  why: string;
  isFinal: boolean;
}

/** Returns a skip that is not final: another try may have another outcome. */
export const notNow = (why: string): Skip => ({ why, isFinal: false });

/** What is known of a key that was just listed. */
export interface Listed {
  connection: Connection;
  scopeReference: ScopeReference;
  key: WireKey | WireCredential;
}

/** What the revocations of one run share. */
export interface RevocationRun {
  connections: Connection[];
  /** Names of connections whose credential was refused in this run. */
  refused: Set<string>;
  /** When this run last listed the members of each organization, in ms. */
  membersListedMs: Map<string, number>;
}

export interface GuardedRevocation extends RevocationRun {
  key: { number: string; id: string; scope: string };
  cause: RevocationCause;
  /** Whether a call for which the control plane was too busy is repeated in this run. */
  repeats: boolean;
  /** Returns why the pass stops, or null. It is asked after the intent, too: a failover in between may have brought an older store (R10). */
  whyStop: () => Promise<string | null>;
  /** Judges the key on current facts (R1). Returns why it must stay, or the policy by which it may be revoked. */
  judge: (listed: Listed) => Promise<Skip | MayGo>;
  /** Judges once more if the call had to wait for a rate limiter permit, and changes nothing. It is `judge` if that changes nothing either. */
  judgeAgain?: GuardedRevocation['judge'];
}

export interface MayGo {
  policySha256: string;
  /** Whether the finding rests on the creator having left. Then this run must also have listed the organization's members. */
  restsOnMembers: boolean;
}

export interface Target {
  connection: Connection;
  scope: Scope;
}

/** The facts on which a key was just judged. */
export interface Ready {
  listing: string;
  listed: Listed;
  /** When the facts were read, by the local clock. */
  judgedMs: number;
  policySha256: string;
}

/** Returns the outcome of a key that was not called. */
export const skipped = ({ why, isFinal }: Skip): Revocation => ({
  outcome: 'skipped',
  why,
  usedInFlight: false,
  isFinal,
});
