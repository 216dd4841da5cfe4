import type { ProvenEvent } from '@keywarden/core/ledger';
import { type EventIndex, listNewest } from './events.ts';

// What the rows of a table of evidence are compared with.

export type Row = Record<string, unknown>;

/** Excludes `to`. */
export interface Period {
  from: string;
  to: string;
}

/** What a value of a row is compared with: its event, and what else the row and the events say. */
interface ComparedWith {
  event: ProvenEvent;
  row: Row;
  events: EventIndex;
}

/** Compares a value of a row with what an event recorded. Returns whether they are the same. */
export type Comparison = (recorded: string, shown: unknown, compared: ComparedWith) => boolean;

/** How a field of a row is compared. */
export interface Compare {
  member: string;
  /** As text by default. */
  isSame?: Comparison;
  /** Returns whether the receipts do not show some of what the value says. */
  isHidden?: (compared: ComparedWith) => boolean;
  /** Of an object, or of each object of a list: the members that are compared. All by default. */
  parts?: string[];
  /** Whether the row has null for an empty text of the event. */
  isEmptyNull?: true;
}

export interface Source {
  type: string;
  /** The members that name the event, each with the field of the row that has its value; `number` with `id` by default. */
  namedByRow?: Record<string, string>;
  /** The same, each with a member of the event of the binding's first source. */
  namedByFirst?: Record<string, string>;
  /** Returns whether the row says that there is such an event; by default it always does. */
  isClaimed?: (row: Row) => boolean;
  /** The field with the time of the row by the database's clock: a row of a time that the signed tree has events of has its event, too. */
  since?: string;
  /** Returns whether a row that differs from the event may be of a later state than the signed tree has. `isNew` tells that of a time. */
  isNewer?: (compared: ComparedWith, isNew: (at: unknown) => boolean) => boolean;
  /** Fields of the row, each with the member of the event, and how they are compared; as text by default. */
  fields: Record<string, string | Compare>;
  /** Values of these fields in a row without the event; missing by default. */
  absent?: Row;
  /** Returns whether the table must have a row of an event. */
  isDue?: (event: ProvenEvent, period: Period, events: EventIndex) => boolean;
  /** Returns whether the archives of earlier versions have no row of a due event. */
  wasLeftOut?: (event: ProvenEvent, period: Period) => boolean;
}

export interface Binding {
  /** What the rows are, in the plural. */
  of: string;
  table: RegExp;
  /** The first one is about the row itself, and the others about what became of it. */
  sources: [Source, ...Source[]];
  /** The field with the number of the signed review whose document has what the row says, and whether the row is the review or one of its items. */
  document?: { review: string; is: 'review' | 'item' };
}

/** Returns the members that name the event of a source, each with what has its value. */
export const nameOfSource = ({ namedByRow = { number: 'id' }, namedByFirst }: Source) => namedByFirst ?? namedByRow;

/** Returns the events for which a table must have a row. */
export function listDue({ sources }: Binding, period: Period, events: EventIndex): Set<ProvenEvent> {
  return new Set(
    sources.flatMap(({ type, isDue }) =>
      listNewest(events, type).filter((event) => isDue?.(event, period, events) === true),
    ),
  );
}
