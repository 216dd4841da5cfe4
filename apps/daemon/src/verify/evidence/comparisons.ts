import type { ProvenEvent } from '@keywarden/core/ledger';
import { canonicalJson, sha256 } from '@keywarden/core/values';
import { type EventIndex, findEvents } from './events.ts';
import type { Compare, Comparison, Row } from './sources.ts';

// How values of rows are compared with what events recorded.

/** Compares what a reference to a key shows: its number, its scope and its id, and the address of its control plane if it has that too. */
export const isKey: Comparison = (recorded, shown, { event: { content } }) => {
  const { number, control_plane: plane, scope, id } = shown as Record<string, unknown>;
  // The address may have spaces.
  const [, recordedPlane, recordedScope, recordedId] = /^(.*) (\S+) (\S+)$/.exec(recorded) ?? [];
  const isSamePlane = plane === undefined || plane === recordedPlane;
  return number === content.key_number && id === recordedId && scope === recordedScope && isSamePlane;
};

/** Compares a reference to a key that has its number and its id alone, as that of an incident. */
export const isShortKey: Comparison = (recorded, shown, { event: { content } }) => {
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

export const isSameJson: Comparison = (recorded, shown) =>
  canonicalJson(JSON.parse(recorded) as object) === canonicalJson(shown as object);

/** Compares a value that is no text. A text with the same letters is another value to other programs: its JSON has quotes. */
export const isValue: Comparison = (recorded, shown) => recorded === JSON.stringify(shown);

export const is =
  (wanted: string): Comparison =>
  (_recorded, shown) =>
    shown === wanted;

/** Compares why a key was revoked: by a plan or by a rotation. */
export const isCause: Comparison = (_recorded, shown, { event: { content } }) =>
  shown === (content.plan_id === null ? 'rotation' : 'plan');

/** Compares a state that says whether the row has the time of its end. */
export const isStateBy =
  (end: string, { before, after }: { before: string[]; after: string }): Comparison =>
  (_recorded, shown, { row }) =>
    row[end] === null ? before.some((state) => state === shown) : shown === after;

/** Lists the transitions of a rotation that its row has. */
export const listMoves = ({ events }: Row): Row[] => (Array.isArray(events) ? (events as Row[]) : []);

/** Returns all events of the transitions of the rotation that an event is about. */
export const movesOf = ({ content }: ProvenEvent, events: EventIndex): ProvenEvent[] =>
  findEvents(events, 'rotation.moved', { rotation_number: content.rotation_number }).toSorted(
    (a, b) => Number(a.content.sequence) - Number(b.content.sequence),
  );

/** Compares the transitions of a rotation with all of its events. The last ones may have no receipt yet; the very last one is the state of the row. */
export const areMoves: Comparison = (_recorded, _shown, { event, row, events }) => {
  const moves = listMoves(row);
  const isLast = canonicalJson(moves.at(-1) ?? {}) === canonicalJson({ state: row.state, at: row.since, why: row.why });
  const areRecorded = movesOf(event, events).every(({ content: { state, at }, personal, hidden }, index) => {
    const move = moves[index] ?? {};
    const why = hidden.includes('why') ? move.why : (personal.why ?? null);
    return canonicalJson(move) === canonicalJson({ state: state ?? null, at: at ?? null, why });
  });
  return isLast && areRecorded;
};

/** Returns whether the receipts do not show why one of the transitions of a rotation happened. */
export const haveHidden: NonNullable<Compare['isHidden']> = ({ event, events }) =>
  movesOf(event, events).some(({ hidden }) => hidden.includes('why'));
