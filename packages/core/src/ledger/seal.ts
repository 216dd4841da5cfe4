import { z } from 'zod';
import { addDays, compareInstants, isInstant, startOfDay } from '../values/index.ts';
import { type Hash, rootOfLeaves } from './merkle.ts';
import { hashOperation, isSealed, readMembers } from './operations.ts';
import { type LoggedEvent, type ProvenEvent, parseCanonical } from './receipt.ts';

/** A time in the form of the ledger, which all readers understand alike. */
const instant = z.string().refine((at) => isInstant(at) && /:\d\d(\.\d{0,5}[1-9])?Z$/.test(at));
const intervals = z.array(
  z.strictObject({
    from: instant,
    to: instant,
    from_included: z.boolean(),
    to_included: z.boolean(),
    reason: z.string().min(1).optional(),
  }),
);
/** Why a project had no operations at a time that a seal counts as covered. */
const emptyReasons = [undefined, 'not_created', 'deleted'];
type Interval = z.output<typeof intervals>[number];
const number = z.string().regex(/^[1-9]\d{0,18}$/);
const sealSchema = z.strictObject({
  number,
  project: z.string().includes(' '),
  day: z.iso.date(),
  operations: z.string().regex(/^(0|[1-9]\d{0,14})$/),
  root: z.string().regex(/^[\da-f]{64}$/),
  covered: z.string(),
  gaps: z.string(),
  replaces: number.nullable(),
  sealed_at: instant,
});

/** What a seal says about a project's operations of one day. */
export interface Seal {
  number: string;
  /** The address of the control plane, a space, and the project's id. */
  project: string;
  day: string;
  operations: number;
  /** In hexadecimal digits. */
  root: string;
  /** The times for which the archive did not claim to have every operation. */
  gaps: Interval[];
  /** The times of the day that are neither covered nor a gap. */
  unclaimed: Pick<Interval, 'from' | 'to'>[];
  /** When the project was created, and when it was deleted, by its control plane, if that was on this day. */
  createdAt: string | null;
  deletedAt: string | null;
  /** The number of the day's seal before; null if it is the first. */
  replaces: string | null;
  /** Not before the end of the day. */
  sealedAt: string;
}

/** Reads the seal of an event; null for an event that is none. */
export function readSeal({ type, subject, recorded, content }: LoggedEvent): Seal | null {
  const read = sealSchema.safeParse(content);
  if (type !== 'archive.sealed' || !read.success) return null;
  const { sealed_at: sealedAt, ...seal } = read.data;
  if (subject !== `operation_seal/${seal.number}` || seal.replaces === seal.number) return null;
  if ([sealedAt, recorded].some((at) => compareInstants(at, endOf(seal.day)) < 0)) return null;
  const gaps = parseCanonical(intervals, seal.gaps);
  const covered = parseCanonical(intervals, seal.covered);
  if (gaps === null || covered === null) return null;
  if (covered.some(({ reason }) => !emptyReasons.includes(reason))) return null;
  const [begin, end] = [startOfDay(seal.day), endOf(seal.day)];
  const isWithin = (at: string) => compareInstants(at, begin) >= 0 && compareInstants(at, end) < 0;
  // Intervals are in any order: the last time without the project before its creation counts, and the first one after its deletion.
  const before = covered.flatMap(({ reason, to }) => (reason === 'not_created' && isWithin(to) ? [to] : []));
  const after = covered.flatMap(({ reason, from }) => (reason === 'deleted' && isWithin(from) ? [from] : []));
  return {
    ...seal,
    operations: Number(seal.operations),
    gaps,
    unclaimed: listUnclaimed(seal.day, [...covered, ...gaps]),
    createdAt: before.toSorted(compareInstants).at(-1) ?? null,
    deletedAt: after.toSorted(compareInstants)[0] ?? null,
    sealedAt,
  };
}

const endOf = (day: string) => startOfDay(addDays(day, 1));

/** Returns the times of a day that are in none of some intervals: each an interval, or one instant. */
function listUnclaimed(day: string, claimed: Interval[]): Seal['unclaimed'] {
  const unclaimed: Seal['unclaimed'] = [];
  const end = endOf(day);
  // Everything before `at` is claimed or listed, and so is `at` itself if it is included.
  let [at, isIncluded] = [startOfDay(day), false];
  for (const each of [...claimed, { from: end, to: end, from_included: true, to_included: true }].toSorted(byStart)) {
    const begins = compareInstants(each.from, at);
    if (begins > 0 || (begins === 0 && !isIncluded && !each.from_included)) unclaimed.push({ from: at, to: each.from });
    const ends = compareInstants(each.to, at);
    if (ends > 0) [at, isIncluded] = [each.to, each.to_included];
    else if (ends === 0 && each.to_included) isIncluded = true;
  }
  return unclaimed;
}

/** Of intervals that begin at one instant, the one that includes it is first. */
const byStart = (a: Interval, b: Interval) =>
  compareInstants(a.from, b.from) || Number(b.from_included) - Number(a.from_included);

/** A list of gaps names no more; further ones are only counted. The coverage names all. */
export const mostGapsListed = 10_000;
/** Walks run every few minutes, and leave out the newest 15 minutes. Lists leave gaps out that began so shortly before their end, in ms. */
export const gapSettlingMs = 25 * 3_600_000;

const dropSchema = z.object({ month: z.iso.date().endsWith('-01'), dropped_at: instant });

/** Reads a month, such as `2026-05`, that retention has dropped; null for any other event. */
export function readDroppedMonth({ type, content }: Pick<ProvenEvent, 'type' | 'content'>): string | null {
  const read = dropSchema.safeParse(content);
  return type === 'retention.dropped' && read.success ? read.data.month.slice(0, 'YYYY-MM'.length) : null;
}

/** A day of an export: how many operations it has, and their root in hexadecimal digits. */
export interface HashedDay {
  operations: number;
  root: string;
}

/**
 * Hashes the lines of an export of one project, newest first as exports are, into the days that seals are about. `mostOf` returns how many operations a day
 * can have, and null for a day that the export is not about; of days for which it returns 0 the operations are only counted. Memory grows with the operations of one day. `add` throws a TypeError for a line
 * that is no operation of the project, for one of another day, for days that are not newest first, and for one with more operations.
 */
export function createDayHasher(
  projectId: string,
  mostOf: (day: string) => number | null,
): { add: (line: string) => void; end: () => Map<string, HashedDay> } {
  const days = new Map<string, HashedDay>();
  let day = '';
  let most = 0;
  let operations = 0;
  let hashes: Hash[] = [];
  const endDay = () => {
    if (operations === 0) return;
    const root = Buffer.from(rootOfLeaves(hashes.toReversed())).toString('hex');
    days.set(day, { operations, root });
    [operations, hashes] = [0, []];
  };
  return {
    add(line) {
      const members = readMembers(line);
      if (members.get('project_id') !== projectId) throw new TypeError('an operation is of another project');
      const other = [...members.keys()].find((name) => name !== 'project_id' && !isSealed(name));
      if (other !== undefined) throw new TypeError(`seals do not prove the field ${other.slice(0, 50)}`);
      const at = (members.get('created_at') ?? '').slice(0, 'YYYY-MM-DD'.length);
      if (at !== day) {
        endDay();
        const mostOfDay = mostOf(at);
        if (mostOfDay === null) throw new TypeError(`it has operations of ${at.slice(0, 50)}, outside its period`);
        if (day !== '' && at > day) throw new TypeError(`the operations of ${at} come after those of ${day}`);
        [day, most] = [at, mostOfDay];
      }
      operations += 1;
      if (most === 0) return;
      if (operations > most) throw new TypeError(`it has more than the ${most} operations of ${day} that were sealed`);
      hashes.push(hashOperation(members));
    },
    end() {
      endDay();
      return days;
    },
  };
}
