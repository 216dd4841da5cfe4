/** The position of a row in a list: the values of its sort columns, as text. */
export type Position = string[];

type ColumnType = 'bigint' | 'timestamptz' | 'text' | 'uuid' | 'int';

/** The order of a list: its columns or expressions in SQL, each with its type. The last one is unique. */
export interface Order {
  order: Record<string, ColumnType>;
  direction: 'asc' | 'desc';
}

/** A row of a list: its JSON text, and its position. */
export interface ListRow {
  item: string;
  at: Position;
}

/** Reads the next rows of an ordered stream. An empty list ends it. */
type Pull = () => Promise<ListRow[]>;

/** Merges ordered streams to one in the list's order, with one batch of each in memory. It begins when each has returned one. */
export async function* mergeOrdered(pulls: Pull[], order: Order): AsyncGenerator<ListRow[]> {
  const compare = comparePositions(order);
  const first = await pullAll(pulls);
  // The stream with the next row is the last one.
  const waiting = first.filter(({ rows }) => rows.length > 0).toSorted((a, b) => compare(headOf(b), headOf(a)));
  let merged: ListRow[] = [];
  for (let stream = waiting.pop(); stream !== undefined; stream = waiting.pop()) {
    const row = stream.rows[stream.next];
    if (row !== undefined) merged.push(row);
    stream.next += 1;
    if (stream.next === stream.rows.length) {
      // What is merged so far does not wait for the next batch.
      yield merged;
      merged = [];
      stream.rows = await stream.pull();
      stream.next = 0;
      if (stream.rows.length === 0) continue;
    }
    waiting.splice(placeOf(stream), 0, stream);
  }

  function placeOf(stream: Stream): number {
    let [low, high] = [0, waiting.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = waiting[middle];
      if (other !== undefined && compare(headOf(other), headOf(stream)) > 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** How many streams are first read at once. Each takes a connection of the pool meanwhile. */
const mostAtOnce = 3;

/** Reads the first batch of each stream. If one fails, the others have ended before the error is thrown. */
async function pullAll(pulls: Pull[]): Promise<Stream[]> {
  const streams: Stream[] = [];
  for (let from = 0; from < pulls.length; from += mostAtOnce) {
    const some = pulls.slice(from, from + mostAtOnce);
    const settled = await Promise.allSettled(some.map(async (pull) => ({ pull, rows: await pull(), next: 0 })));
    for (const each of settled) {
      if (each.status === 'rejected') throw each.reason;
      streams.push(each.value);
    }
  }
  return streams;
}

interface Stream {
  pull: Pull;
  rows: ListRow[];
  next: number;
}

const headOf = ({ rows, next }: Stream): Position => rows[next]?.at ?? [];

type Compare = (a: string, b: string) => number;
const byText: Compare = (a, b) => (a === b ? 0 : a < b ? -1 : 1);
const byNumber: Compare = (a, b) => a.length - b.length || byText(a, b);

/** How Postgres orders values that are not negative, from their texts. In a time without year 10000, '+' comes before '.', and '.' before a digit. */
const compareAs: Record<Exclude<ColumnType, 'text'>, Compare> = {
  timestamptz: byText,
  uuid: byText,
  bigint: byNumber,
  int: byNumber,
};

function comparePositions({ order, direction }: Order): (a: Position, b: Position) => number {
  const columns = Object.values(order).map((type) => {
    // Only Postgres knows the order of a collation.
    if (type === 'text') throw new TypeError('streams that are ordered by text cannot be merged');
    return compareAs[type];
  });
  const sign = direction === 'asc' ? 1 : -1;
  return (a, b) => {
    for (const [index, compare] of columns.entries()) {
      const found = compare(a[index] ?? '', b[index] ?? '');
      if (found !== 0) return sign * found;
    }
    return 0;
  };
}
