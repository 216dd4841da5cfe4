import type { SinkAnswer } from '@keywarden/core/rotation';

/** For whom a secret is: what a place may name, and what a command is told. */
export interface Target {
  /** The id of the lineage's first key, which stays the same through all rotations. */
  lineage: string;
  name: string;
  kind: string;
  organization: string | null;
  project: string | null;
  rotation: string;
  oldKeyId: string;
}

/** What became of a delivery. `mayHave`: it failed, and nobody can tell whether the secret is there all the same. */
export type Delivered = { isDelivered: true } | { isDelivered: false; why: string; mayHave: boolean };

/** Where the secrets of one target go. None of its answers repeats the secret, nor what a command printed. */
export interface OpenSink {
  /** The file, which is one lineage's alone; null where the sink itself tells lineages apart. */
  file: string | null;
  /** Why it could take no secret now, as far as that can be seen before there is one. */
  check(): Promise<string | null>;
  deliver(secret: string, keyId: string, signal: AbortSignal): Promise<Delivered>;
  /** Whether it has the secret of a key. */
  ask(keyId: string, signal: AbortSignal): Promise<SinkAnswer>;
}
