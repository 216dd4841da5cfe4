import { instant, type ReadPage } from '@keywarden/testkit/daemon/walk-fixture';
import { expect, test } from 'vitest';
import { fetchWhole } from './whole-page.ts';

// What is made of the answers to the requests for one page, each answer given by its rows.

type Answer = Partial<ReadPage>;

/** Returns an answer with these rows, each a letter or a number; with '!' they cannot be read. */
function answer(ids: string, cursor: string | null = null, more: Answer = {}): Answer {
  const rows = ids.split(' ').filter((id) => id !== '');
  const items = rows.filter((id) => !id.startsWith('!')).map((id) => ({ id, createdAt: instant(id.charCodeAt(0)) }));
  const rejected = rows
    .filter((id) => id.startsWith('!'))
    .map((id, index) => ({ index, id, why: 'odd', record: null }));
  return { items: items as unknown as ReadPage['items'], cursor, rejected, ...more };
}

/** Returns the page that is made of these answers, and the limit and the cursor of each request. */
async function fetchFrom(answers: Answer[], request: Partial<Parameters<typeof fetchWhole>[1]> = {}) {
  const asked: string[] = [];
  const operationsPage = async (_project: string, page: { limit?: number; cursor?: string | undefined } = {}) => {
    asked.push(`${page.limit} ${page.cursor ?? ''}`.trim());
    const given = answers[asked.length - 1];
    if (given === undefined) throw new Error('one request too many');
    return { dateMs: 0, ageMs: 0, ...given } as ReadPage;
  };
  const client = { operationsPage, operationsPageEnd: () => Promise.reject(new Error('nothing asks for an end')) };
  const place = { projectId: 'p', limit: 10, cursor: undefined, signal: new AbortController().signal, largest: 0 };
  const page = await fetchWhole(client, { ...place, ...request });
  const rows = page.items.map(({ id }) => id).join(' ');
  return { page, seen: [rows, page.cursor], asked };
}

const many = (count: number) => Array.from({ length: count }, (_, index) => String(index)).join(' ');
const isKnownEnd = () => Promise.resolve(true);

test('A2: empty pages with a cursor are passed over with their unreadable rows, but not without end', async () => {
  const empty = [
    answer('!x', '1'),
    answer('!x', '1'),
    answer('', '2'),
    answer('', '2'),
    answer('', '3'),
    answer('', '3'),
  ];
  const { page, seen, asked } = await fetchFrom([...empty, answer('a')]);
  expect(seen).toEqual(['a', null]);
  expect(page).toMatchObject({ requestCursor: '3', passedOver: [{ id: '!x' }] });
  expect(asked.at(-1)).toBe('10 3');
  const endless = Array.from({ length: 400 }, (_, index) => answer('', String(Math.floor(index / 2))));
  await expect(fetchFrom(endless)).rejects.toThrow('is repeatedly empty and has a cursor');
});

test.each<[string, Answer[], Parameters<typeof fetchFrom>[1], [seen: [string, string | null], requests: number]]>([
  ['a full page', [answer('a b', '1')], { limit: 2 }, [['a b', '1'], 1]],
  ['a full page without a cursor', [answer(many(3)), answer(many(2), '1')], { limit: 3 }, [[many(3), '1'], 2]],
  ['a short page without a cursor', [answer('a b')], {}, [['a b', null], 1]],
  ['a short page with a cursor, twice the same', [answer('a b', '1'), answer('a b', '1')], {}, [['a b', '1'], 2]],
  ['a row less at the end', [answer('b c', '2'), answer('b', '1'), answer('b', '1')], {}, [['b', '1'], 3]],
  ['an empty page above a known end', [answer('', '1'), answer('a', '1')], { isKnownEnd }, [['a', null], 2]],
  ['a known end', [answer('a b', '1')], { isKnownEnd }, [['a b', null], 1]],
  [
    'an end that is not known',
    [answer('a b', '1'), answer('a b', '1')],
    { isKnownEnd: () => Promise.resolve(false) },
    [['a b', '1'], 2],
  ],
  [
    'what would be a known end, below an empty page',
    [answer('', '1'), answer('', '1'), answer('a', '2'), answer('a', '2')],
    { isKnownEnd },
    [['a', '2'], 4],
  ],
  ['repeated rows at a known end', [answer('a a b', '1'), answer('a b', '1')], { isKnownEnd }, [['a b', '1'], 2]],
  ['an unreadable row at a known end', [answer('a !x', '1'), answer('a !x', '1')], { isKnownEnd }, [['a', '1'], 2]],
  ['a page smaller than another, with nothing below', [answer('a', '1'), answer('')], { largest: 2 }, [['a', null], 2]],
  ['a page as large as the others', [answer('a', '1'), answer('a', '1')], { largest: 1 }, [['a', '1'], 2]],
  [
    'a smaller page above an unreadable row',
    [answer('a', '1'), answer('!x'), answer('a', '1')],
    { largest: 2 },
    [['a', '1'], 3],
  ],
  [
    'a smaller page above an empty one with a cursor',
    [answer('a', '1'), answer('', '2'), answer('a', '1')],
    { largest: 2 },
    [['a', '1'], 3],
  ],
  [
    'a smaller page above an empty one that repeats its cursor once',
    [answer('a', '1'), answer('', '1'), answer('b', '0'), answer('a', '1')],
    { largest: 2 },
    [['a', '1'], 4],
  ],
  ['an empty page that repeats its cursor twice', [answer('', '0'), answer('', '0')], { cursor: '0' }, [['', null], 2]],
  [
    'an empty page that repeats its cursor once',
    [answer('', '1'), answer('', '0'), answer('', '1'), answer('', '1'), answer('a')],
    { cursor: '0' },
    [['a', null], 5],
  ],
  [
    'a row more below a cursor',
    [answer('a', '1'), answer('a b', '1'), answer('a b', '1')],
    { cursor: '0' },
    [['a b', '1'], 3],
  ],
  [
    'a row more above, below a cursor',
    [answer('b', '1'), answer('a b', '1'), answer('a b', '1')],
    { cursor: '0' },
    [['a b', '1'], 3],
  ],
  ['a row more above', [answer('b c', '2'), answer('a b', '1')], {}, [['a b', '1'], 2]],
  [
    'a row more above, one less within',
    [answer('b c d', '2'), answer('a b d', '1'), answer('a b d', '1')],
    {},
    [['a b d', '1'], 3],
  ],
  ['other rows below the first', [answer('b c', '2'), answer('b d', '1'), answer('b d', '1')], {}, [['b d', '1'], 3]],
  ['other rows', [answer('b', '2'), answer('c', '1'), answer('c', '1')], {}, [['c', '1'], 3]],
  ['a row that becomes unreadable', [answer('a', '1'), answer('a !x', '1'), answer('a !x', '1')], {}, [['a', '1'], 3]],
  [
    'a row more above an unreadable one',
    [answer('b', '2'), answer('a b !x', '1'), answer('a b !x', '1')],
    {},
    [['a b', '1'], 3],
  ],
  [
    'a row more above one that was unreadable',
    [answer('b !x', '2'), answer('a b', '1'), answer('a b', '1')],
    {},
    [['a b', '1'], 3],
  ],
  [
    'a small page of 100 rows with a cursor',
    [answer(many(100), '1'), answer(many(100), '1')],
    { limit: 1000 },
    [[many(100), '1'], 2],
  ],
  ['an end at 100 rows', [answer(many(100)), answer(many(99), '1')], { limit: 1000 }, [[many(100), '1'], 2]],
])('A2: %s', async (_what, answers, request, [seen, requests]) => {
  const fetched = await fetchFrom(answers, request);
  expect([fetched.seen, fetched.asked.length]).toEqual([seen, requests]);
});

test.each<[string, Answer[], string]>([
  ['has other rows each time', ['a', 'b', 'c', 'd'].map((id) => answer(id, id)), 'has different rows each time'],
  ['shows its only row twice', [answer('a a'), answer('a a')], 'shows one row, and more may follow'],
  ['ends at 100 rows, and so does a smaller one', [answer(many(100)), answer(many(99))], 'more may follow'],
  [
    'ends at 100 rows, and a smaller one lacks some',
    [answer(many(100)), ...['1', '1'].map((at) => answer(many(98), at))],
    'more may follow',
  ],
])('A2: a page that %s proves nothing', async (_what, answers, why) => {
  await expect(fetchFrom(answers, { limit: 1000 })).rejects.toThrow(why);
});

test('A2: an id that one page shows twice in a second is one operation', async () => {
  const { seen } = await fetchFrom([
    answer('', null, {
      items: ['2026-01-01T00:00:00.1Z', '2026-01-01T00:00:00.12Z'].map((createdAt) => ({
        id: 'a',
        createdAt,
      })) as never,
    }),
    answer('a'),
  ]);
  expect(seen).toEqual(['a', null]);
});

test.each([
  [
    { dateMs: 9000, ageMs: 1 },
    { dateMs: 5000, ageMs: 7 },
    { dateMs: 5000, ageMs: 7 },
  ],
  [
    { dateMs: 5000, ageMs: 7 },
    { dateMs: 9000, ageMs: 1 },
    { dateMs: 5000, ageMs: 7 },
  ],
  [
    { dateMs: 9000, ageMs: 1 },
    { dateMs: null, ageMs: 1 },
    { dateMs: null, ageMs: 1 },
  ],
  [
    { dateMs: null, ageMs: 1 },
    { dateMs: 9000, ageMs: 1 },
    { dateMs: null, ageMs: 1 },
  ],
])(
  'a page that two responses show is as old as the older of them: a last page, or one below an empty page',
  async (first, second, expected) => {
    const last = await fetchFrom([answer('a', '1', first), answer('', null, second)], { largest: 2 });
    expect(last.page).toMatchObject({ cursor: null, ...expected });
    const empty = answer('', '1', first);
    const below = await fetchFrom([empty, empty, answer('a', null, second)]);
    expect(below.page).toMatchObject({ requestCursor: '1', ...expected });
  },
);
