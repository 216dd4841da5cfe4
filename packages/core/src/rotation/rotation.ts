import type { Use } from '../policy/index.ts';
import type { RotationState } from './states.ts';

/** Whether a sink has a key, if the sink can determine it. */
export type SinkAnswer = 'has' | 'lacks' | 'unknown';

/** An intent to mint a successor, and its outcome. Times are RFC 3339 by the control plane's clock. */
export interface MintIntent {
  attempt: number;
  name: string;
  /** The user that minted it. */
  creatorId: string;
  /** When the scope was last listed completely before the intent. */
  listedAt: string;
  /** Null until a response gives it. */
  keyId: string | null;
  /** unclear: it is unknown whether its sink has the secret. lost: its secret is lost. */
  outcome: 'delivered' | 'unclear' | 'lost' | null;
  deliveredAt: string | null;
}

/** A rotation as its rows store it. */
export interface Rotation<Mint extends MintIntent = MintIntent> {
  state: RotationState;
  /** When it entered its state (RFC 3339). `why` is the reason. */
  since: string;
  why: string | null;
  quietForMs: number;
  adoptWithinMs: number;
  /** In order; the last mint is the current one. */
  mints: Mint[];
}

/** What the listings show of a key. missing: the last one lacks it. gone: the last two lack it. unlisted: none has shown it yet. */
export type Sighting =
  | { state: 'live'; use: Use; presentSince: string }
  | { state: 'missing' | 'gone' | 'unlisted'; use?: undefined };

/** The codes of answers of a busy control plane (423, 429, 503): nothing was done, and the same call may succeed later. They refuse nothing. */
export const busyCodes: readonly string[] = ['locked', 'rate_limited', 'unavailable'];

/** The facts that a decision rests on. */
export interface RotationFacts {
  /** The control plane's current time in ms; null while it is not known exactly enough. */
  nowMs: number | null;
  /** The newest complete listing at least an hour before the last one, with no suspect listing since. */
  hourPriorListedAt: string | null;
  old: Sighting;
  successor: Sighting;
  /** The longest recorded time between two uses of the old key, in ms; 0 with fewer than two recorded uses. */
  longestGapMs: number;
  /** How many complete listings of the scope began since the last intent to mint. */
  listingsSinceMint: number;
  /** Live keys with the last intent's name that are not recorded as its successor. */
  lost: string[];
  /** Why the key that is taken for the successor may be another one, whose use says nothing about the old key; null if nothing speaks against it. */
  whySuccessorUnproven: string | null;
  /** The result of the last attempt to revoke the old key. */
  retirement: 'none' | 'open' | 'ended';
  /** How often the control plane refused to revoke it. `wasRefusedLately` is true if that was within a day. */
  refusals: number;
  wasRefusedLately: boolean;
  /** Whether the sink has the successor; null if it was not asked. */
  sink: SinkAnswer | null;
  /** True if a process that may still run has the secret on its way to the sink. */
  mayBeOnItsWay: boolean;
  /** The number of our live processes that do not use the successor yet, when it is our own credential. */
  replicasBehind: number;
}

/** Returns whether the sink must be asked before a decision. */
export function wantsSink(rotation: Pick<Rotation, 'state' | 'mints'>): boolean {
  return rotation.state === 'minted' || (rotation.state === 'stalled' && currentMint(rotation)?.outcome === 'unclear');
}

/** Returns the current mint. */
export function currentMint<Mint extends MintIntent>({ mints }: Pick<Rotation<Mint>, 'mints'>): Mint | undefined {
  return mints.at(-1);
}
