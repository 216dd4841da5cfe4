import type { ProvenEvent } from '@keywarden/core/ledger';
import { canonicalJson, sha256 } from '@keywarden/core/values';

// How values of rows are compared with what events recorded.

/** Compares a value of a row with what an event recorded. Returns whether they are the same. */
export type Comparison = (recorded: string, shown: unknown, event: ProvenEvent) => boolean;

/** Compares what a reference to a key shows: its number, its scope and its id, and the address of its control plane if it has that too. */
export const isKey: Comparison = (recorded, shown, { content }) => {
  const { number, control_plane: plane, scope, id } = shown as Record<string, unknown>;
  // The address may have spaces.
  const [, recordedPlane, recordedScope, recordedId] = /^(.*) (\S+) (\S+)$/.exec(recorded) ?? [];
  const isSamePlane = plane === undefined || plane === recordedPlane;
  return number === content.key_number && id === recordedId && scope === recordedScope && isSamePlane;
};

/** Compares a reference to a key that has its number and its id alone, as that of an incident. */
export const isShortKey: Comparison = (recorded, shown, { content }) => {
  const { number, id } = shown as Record<string, unknown>;
  return number === content.key_number && id === recorded.split(' ').at(-1);
};

/** Compares the keys of an exemption with the hash of their names. */
export const areKeys: Comparison = (recorded, shown) => {
  const parts = (Array.isArray(shown) ? (shown as Record<string, unknown>[]) : []).map((each) => [
    each.control_plane,
    each.scope,
    each.id,
  ]);
  const names = parts.map((each) => each.join(' '));
  // The spaces and line ends between them are theirs alone; only an address may have spaces.
  const arePlain = parts.every(
    ([plane, ...others]) =>
      typeof plane === 'string' &&
      !plane.includes('\n') &&
      others.every((each) => typeof each === 'string' && /^\S+$/.test(each)),
  );
  return (
    arePlain && recorded === sha256(names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).join('\n'))
  );
};

export const isSameText: Comparison = (recorded, shown) => recorded === shown;

export const isSameJson: Comparison = (recorded, shown) =>
  canonicalJson(JSON.parse(recorded) as object) === canonicalJson(shown as object);

/** Compares a value that is no text. A text with the same letters is another value to other programs: its JSON has quotes. */
export const isValue: Comparison = (recorded, shown) => recorded === JSON.stringify(shown);

export const is =
  (wanted: string): Comparison =>
  (_recorded, shown) =>
    shown === wanted;
