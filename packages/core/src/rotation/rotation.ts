import type { Use } from '../policy/index.ts';
import type { RotationState } from './states.ts';

/** Whether a sink has a key, as far as it can tell. */
export type SinkAnswer = 'has' | 'lacks' | 'unknown';

/** An intent to mint a successor, and what became of it. Times are RFC 3339 by the control plane's clock. */
export interface MintIntent {
  attempt: number;
  name: string;
  /** The user as whom it was minted. */
  creatorId: string;
  /** When the scope was last listed whole before. */
  listedAt: string;
  /** Null while no answer has told it. */
  keyId: string | null;
  /** unclear: nobody can tell whether its sink has it. lost: its secret is lost. */
  outcome: 'delivered' | 'unclear' | 'lost' | null;
  deliveredAt: string | null;
}

/** A rotation as its rows have it. */
export interface Rotation<Mint extends MintIntent = MintIntent> {
  state: RotationState;
  /** When it came to its state, RFC 3339, and why. */
  since: string;
  why: string | null;
  quietForMs: number;
  adoptWithinMs: number;
  /** In their order; the last is the one that counts. */
  mints: Mint[];
}

/** What the listings say of a key. missing: the last lacks it. gone: two in a row do. unlisted: none has shown it yet. */
export type Sighting =
  | { state: 'live'; use: Use; presentSince: string }
  | { state: 'missing' | 'gone' | 'unlisted'; use?: undefined };

/** What a decision rests on. */
export interface RotationFacts {
  /** The control plane's present, in ms; null while it is not known well enough. */
  nowMs: number | null;
  /** The youngest complete listing that lies an hour before the last one, with no doubted one since. */
  hourPriorListedAt: string | null;
  old: Sighting;
  successor: Sighting;
  /** The longest time between two uses of the old key that the store knows, in ms; 0 where it knows no two. */
  longestGapMs: number;
  /** How many complete listings of the scope were begun since the last intent to mint. */
  listingsSinceMint: number;
  /** Live keys that bear the last intent's name and are not known as its successor. */
  lost: string[];
  /** What became of the last try to revoke the old key. */
  retirement: 'none' | 'open' | 'ended';
  /** How often the control plane refused to revoke it, and whether it did within a day. */
  refusals: number;
  wasRefusedLately: boolean;
  /** Whether the sink has the successor; null where it was not asked. */
  sink: SinkAnswer | null;
  /** A process that may live still has the secret, on its way to the sink. */
  mayBeOnItsWay: boolean;
  /** Live processes of ours that do not work with the successor yet: of our own credential. */
  replicasBehind: number;
}

/** Whether its sink must be asked before anything can be decided. */
export function wantsSink(rotation: Pick<Rotation, 'state' | 'mints'>): boolean {
  return rotation.state === 'minted' || (rotation.state === 'stalled' && currentMint(rotation)?.outcome === 'unclear');
}

/** The mint that counts. */
export function currentMint<Mint extends MintIntent>({ mints }: Pick<Rotation<Mint>, 'mints'>): Mint | undefined {
  return mints.at(-1);
}
