import type { SinkAnswer } from '@keywarden/core/rotation';

/** The target of a secret: the values that a path may name and that a command gets. */
export interface Target {
  /** The identity of the control plane: its address. */
  controlPlane: string;
  /** The id of the lineage's first key, which stays the same through all rotations. */
  lineage: string;
  name: string;
  kind: string;
  organization: string | null;
  project: string | null;
  rotation: string;
  oldKeyId: string;
}

/** The result of a delivery. `mayHave`: it failed, but the secret may be there all the same. */
export type Delivered = { isDelivered: true } | { isDelivered: false; why: string; mayHave: boolean };

/** What stops a delivery before it writes. */
interface DeliveryGuard {
  signal: AbortSignal;
  /**
   * Returns why the secret must not be written now, or null: the store fails, or another process has taken over the rotations. A process that was paused must not
   * replace the secret that another one delivered since.
   */
  whyNotWrite: () => Promise<string | null>;
}

/** The destination for the secrets of one target. None of its results contains the secret or a command's output. */
export interface OpenSink {
  /** The file, which belongs to one lineage; null if the sink itself separates lineages. */
  file: string | null;
  /** Whether it may lack, for a while, what was delivered to it. */
  isDelayed: boolean;
  /** Returns why it cannot take a secret now, as far as that can be checked without one. */
  check(): Promise<string | null>;
  /** Prepares the place before a secret is minted, so that `ask` can tell a place without the secret from another place. Returns why it cannot. */
  prepare?(): Promise<string | null>;
  deliver(secret: string, keyId: string, guard: DeliveryGuard): Promise<Delivered>;
  /** Returns whether it has the secret of a key. */
  ask(keyId: string, signal: AbortSignal): Promise<SinkAnswer>;
}
