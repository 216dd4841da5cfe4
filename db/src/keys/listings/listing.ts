import type { WireCredential, WireKey } from '@keywarden/core/wire';
import type { Lease } from '../../locks.ts';

/** The content of one list of a scope's keys, or of its other credentials. */
export interface KeyListing {
  controlPlane: string;
  /** `user:ID` or `organization:ID`; for credentials other than keys, `KIND:ORGANIZATION/PROJECT`. */
  scope: string;
  organizationId: string | null;
  connection: string;
  run: string | null;
  /** The control plane's own Date of the listing's first answer. */
  listedAt: string;
  /** Our database's clock before the first request. */
  begunAt: string;
  /** Why the listing does not show the current state; null if it does. Of a stale listing only its arrival is stored. */
  stale?: string | null;
  /** The number of rows beside `keys` that cannot be read. Any absent key, and a later use of any listed one, may be among them. */
  unreadable?: number;
  /** Why only a part of the list was shown; null if all of it was. What was shown is stored; absences prove nothing. */
  partial?: string | null;
  keys: (WireKey | WireCredential)[];
  /** The keys that the list shows as revoked. Their absence from `keys` is not sudden, and their last use may be new information. */
  ended?: WireCredential[];
  /** The scope's lease: the listing is refused if another process has taken the lock since. */
  lease?: Lease | undefined;
}

/** Returns whether a scope is one of keys, and not of other credentials. */
export const isOfKeys = (scope: string): boolean => /^(user|organization):/.test(scope);

/** No replica of the control plane lags by more (A6): a listing that began so long after a call shows what the call did. As Postgres reads intervals. */
export const mostLag = '5 minutes';

/** Returns the name of a scope in facts and plans: its control plane's number and its own name. */
export function scopeKeyOf(controlPlane: string, scope: string): string {
  return `${controlPlane}/${scope}`;
}
