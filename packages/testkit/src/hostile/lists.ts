import { changeList, type Distortion, type Exchange, type List } from './exchange.ts';

// Distortions of whole lists: other orders, too many or too few rows, pages that end in unexpected ways.

const onList =
  (change: (list: List, exchange: Exchange) => Partial<List>): Distortion =>
  async (exchange, forward) =>
    await changeList(await forward(), (list) => change(list, exchange));

export const reordered = onList(({ rows }, { random }) => ({
  rows: rows
    .map((row) => ({ row, at: random.next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ row }) => row),
}));

/** Duplicates some rows. For keys, one of the two rows lacks the last use. */
export const duplicated = onList(({ rows }, { random }) => ({
  rows: rows.flatMap((row) => {
    if (!random.chance(0.3)) return [row];
    const unused = 'last_used_at' in row ? { ...row, last_used_at: null, last_used_from_addr: '' } : row;
    return random.chance(0.5) ? [row, unused] : [unused, row];
  }),
}));

/** Drops one row. On a page of operations it does so only if more pages follow. */
export const dropped: Distortion = async ({ random, url }, forward) => {
  const follow = async (cursor: string | null) => {
    if (cursor === null) return false;
    const next = new URL(url);
    next.searchParams.set('cursor', cursor);
    let isMore = false;
    await changeList(await forward({ url: next }), ({ rows }) => {
      isMore = rows.length > 0;
      return {};
    });
    return isMore;
  };
  return await changeList(await forward(), async ({ rows, cursor }) => {
    if (rows.length === 0 || ('failures_count' in (rows[0] ?? {}) && !(await follow(cursor)))) return {};
    const lost = random.below(rows.length);
    return { rows: rows.filter((_row, index) => index !== lost) };
  });
};

/** Returns less than half of the rows, or none, and no next page. */
export const cutShort = onList(({ rows }, { random }) => ({
  rows: rows.slice(0, random.below(Math.ceil(rows.length / 2))),
  cursor: null,
}));

/** Adds rows of another list of the same kind. */
export function createForeign(): Distortion {
  const others = new Map<string, List['rows']>();
  return async (exchange, forward) => {
    const { pathname, searchParams } = exchange.url;
    const place = `${pathname}?${searchParams.get('org_id') ?? ''}`;
    return await changeList(await forward(), ({ rows }) => {
      const foreign = [...others].find(
        ([other]) => other !== place && other.split('/').at(-1) === place.split('/').at(-1),
      );
      others.set(place, rows);
      if (foreign === undefined) return {};
      const [, borrowed] = foreign;
      if (exchange.random.chance(0.3)) return { rows: borrowed };
      return { rows: [...rows, ...borrowed.slice(0, 2)] };
    });
  };
}

/** Inserts an empty page before the true one; its cursor leads to the same request again. */
export function createEmptyPages(): Distortion {
  const waiting = new Map<string, string>();
  let number = 0;
  return async (exchange, forward) => {
    const url = new URL(exchange.url);
    const own = waiting.get(url.searchParams.get('cursor') ?? '');
    if (own !== undefined) {
      if (own === '') url.searchParams.delete('cursor');
      else url.searchParams.set('cursor', own);
      return await forward({ url });
    }
    if (!exchange.random.chance(0.3)) return await forward();
    return await changeList(await forward(), () => {
      number += 1;
      waiting.set(`empty-${number}`, url.searchParams.get('cursor') ?? '');
      return { rows: [], cursor: `empty-${number}` };
    });
  };
}

/** Returns pages with fewer rows than requested, with more pages to follow. */
export function createCapped(cap: number): Distortion {
  return async ({ url: asked }, forward) => {
    const url = new URL(asked);
    if (Number(url.searchParams.get('limit') ?? cap + 1) > cap) url.searchParams.set('limit', String(cap));
    return await forward({ url });
  };
}

/** Ends lists at a round number of rows, as if they were complete. */
export const cappedSilently = onList(({ rows }) =>
  rows.length > 100 ? { rows: rows.slice(0, 100), cursor: null } : {},
);

/** Shortens the fractions of cursors that are times to three digits, or to none. */
export function createCoarseCursors(digits: 0 | 3): Distortion {
  return onList(({ cursor }) => {
    if (cursor === null || !/^\d{4}-\d\d-\d\dT/.test(cursor)) return {};
    const fraction = digits === 0 ? '' : (/\.\d{1,3}/.exec(cursor)?.[0] ?? '');
    return { cursor: `${cursor.slice(0, 19)}${fraction}Z` };
  });
}

/** Replaces each cursor by a long one that shows nothing of its row. */
export const opaqueCursors: Distortion = async ({ url: asked }, forward) => {
  const url = new URL(asked);
  const cursor = url.searchParams.get('cursor');
  if (cursor?.startsWith(opaque) === true)
    url.searchParams.set('cursor', Buffer.from(cursor.slice(opaque.length), 'base64').toString());
  return await changeList(await forward({ url }), ({ cursor: own }) =>
    own === null ? {} : { cursor: `${opaque}${Buffer.from(own).toString('base64')}` },
  );
};

const opaque = 'opaque+/'.repeat(60);
