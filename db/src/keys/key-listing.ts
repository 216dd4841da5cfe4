import type { WireCredential, WireKey } from '@keywarden/core/wire';
import type { Lease } from '../locks.ts';

/** What one list of a scope's keys, or of its other credentials, showed. */
export interface KeyListing {
  controlPlane: string;
  /** `user:ID`, `organization:ID`, or of credentials that are no keys `KIND:ORGANIZATION/PROJECT`. */
  scope: string;
  organizationId: string | null;
  connection: string;
  run: string | null;
  /** The control plane's own Date of the listing's first answer. */
  listedAt: string;
  /** Our database's clock before the first request. */
  begunAt: string;
  /** Why it does not show the present; null where it does. Then nothing of it is stored but that it came. */
  stale?: string | null;
  /** Rows that cannot be read, beside `keys`: any key that is not in it may be one of them, and any that is may be used by their word. */
  unreadable?: number;
  /** Why not all of the list was shown; null where it was. What was shown is stored, and nothing is concluded from what was not. */
  partial?: string | null;
  keys: (WireKey | WireCredential)[];
  /** What the list shows as revoked: its absence from `keys` is no sudden one, and its last use may be news. */
  ended?: WireCredential[];
  /** Of the scope: the listing is refused if another process has taken its lock since. */
  lease?: Lease | undefined;
}

/** The name of a scope in facts and plans: its control plane's number and its own name. */
export function factScope(controlPlane: string, scope: string): string {
  return `${controlPlane}/${scope}`;
}
