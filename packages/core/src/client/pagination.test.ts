import { expect, test } from 'vitest';
import { createClient } from './client.ts';
import { collect, followPages, type Page, type RejectedRow } from './pagination.ts';

/** A server that answers with these pages, one after the other, and then with the end of its list. */
function serverOf(pages: Partial<Page<number>>[]) {
  const asked: (string | undefined)[] = [];
  const fetchPage = async (cursor: string | undefined): Promise<Page<number>> => {
    const page = pages[asked.length];
    asked.push(cursor);
    return { items: [], cursor: null, dateMs: null, ageMs: 0, ...page };
  };
  return { asked, fetchPage };
}

const unreadable: RejectedRow = { index: 0, id: '1', why: 'odd', record: null };

/** Pages with cursors of their own. */
const numbered = (pages: Partial<Page<number>>[]) =>
  pages.map((page, index): Partial<Page<number>> => ({ ...page, cursor: `cursor ${index}` }));

test.each<[string, Partial<Page<number>>]>([
  ['a row', { items: [1] }],
  ['an unreadable row', { rejected: [unreadable] }],
  ['an unavailable row', { unavailableIds: ['1'] }],
  ['a row and an unreadable one', { items: [1], rejected: [unreadable] }],
  ['a row and an unavailable one', { items: [1], unavailableIds: ['1'] }],
])('a page with %s that repeats its own cursor is an error and not the end of its list', async (_what, page) => {
  const { asked, fetchPage } = serverOf(Array.from({ length: 3 }, () => ({ ...page, cursor: 'a' })));
  const list = collect(followPages(fetchPage, 'a'));
  await expect(list).rejects.toMatchObject({ code: 'invalid_response' });
  expect(asked).toEqual(['a']);
});

test('a list is followed over 100 empty pages in a row, and over more of them with rows between; 101 are an error', async () => {
  const empty = Array.from({ length: 100 }, () => ({}));
  const read = async (...pages: Partial<Page<number>>[]) =>
    (await collect(followPages(serverOf(numbered(pages)).fetchPage))).items;
  expect(await read(...empty, { items: [1] }, ...empty, { items: [2] })).toEqual([1, 2]);
  await expect(read(...empty, {}, { items: [1] })).rejects.toMatchObject({
    message: 'a list has too many empty pages in a row',
  });
});

test('rows that are shown again are no error while new ones come between', async () => {
  const again = Array.from({ length: 700 }, () => ({ items: [1] }));
  const { fetchPage } = serverOf(numbered([...again, { items: [2] }, ...again]));
  expect((await collect(followPages(fetchPage))).items).toHaveLength(1401);
});

test('a list with more rows than fit into memory is an error, also if none of them can be read', async () => {
  const rejected = Array.from({ length: 1_000_000 }, () => unreadable);
  const { asked, fetchPage } = serverOf(numbered([{ rejected }, { rejected }, { items: [1] }, {}]));
  const list = collect(followPages(fetchPage));
  await expect(list).rejects.toMatchObject({ message: 'a list has more than 2000000 rows' });
  expect(asked).toHaveLength(3);
});

test('a list whose rows are so long that they would fill the memory is an error', async () => {
  const length = 2 ** 26;
  const pages = (count: number) => numbered(Array.from({ length: count }, (_, index) => ({ items: [index], length })));
  const read = async (count: number) => await collect(followPages(serverOf([...pages(count), {}]).fetchPage));
  expect((await read(4)).items).toHaveLength(4);
  await expect(read(5)).rejects.toMatchObject({ message: 'a list has more than 268435456 characters' });
});

test('each page of a list has the length of its response', async () => {
  const fetch = async () => Response.json({ projects: [] });
  const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'k', fetch });
  for await (const page of client.projects('acme')) expect(page.length).toBe('{"projects":[]}'.length);
});

test('the age of a list with several pages is the largest of theirs', async () => {
  const { fetchPage } = serverOf(numbered([{ ageMs: 1000 }, { ageMs: 5000 }, { ageMs: 2000 }]));
  expect((await collect(followPages(fetchPage))).ageMs).toBe(5000);
});
