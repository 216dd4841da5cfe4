import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { type ListRow, mergeOrdered, type Order } from './merge.ts';

const order: Order = {
  order: { created_at: 'timestamptz', number: 'bigint' },
  direction: 'desc',
};

/** Returns a stream that gives its rows in batches of these sizes, and counts what was pulled. */
function pullOf(rows: ListRow[], sizes: number[]) {
  let next = 0;
  const pull = { pulled: 0, next: () => Promise.resolve([] as ListRow[]) };
  pull.next = () => {
    const batch = rows.slice(next, next + (sizes[pull.pulled % sizes.length] ?? 1));
    next += batch.length;
    pull.pulled += 1;
    return Promise.resolve(batch);
  };
  return pull;
}

const times = [
  '2026-05-01 00:00:00+00',
  '2026-05-01 00:00:00.45+00',
  '2026-05-01 00:00:00.5+00',
  '2026-05-01 00:00:01+00',
];

test('200 random divisions of rows into streams and batches merge to the order of the whole', async () => {
  for (let round = 0; round < 200; round += 1) {
    const bytes = [...randomBytes(120)];
    // Newest first, and numbers of different lengths in numeric order.
    const all = Array.from({ length: 60 }, (_, index) => {
      const at = [times[3 - Math.floor(index / 15)] ?? '', String(200 - index * 3)];
      return { item: at.join(' '), at };
    });
    const streams = Array.from({ length: 1 + ((bytes[0] ?? 0) % 6) }, (): ListRow[] => []);
    for (const [index, row] of all.entries()) streams[(bytes[index + 1] ?? 0) % streams.length]?.push(row);
    const pulls = streams.map((rows, index) => pullOf(rows, [1 + ((bytes[90 + index] ?? 0) % 7), 3]));
    const merged: string[] = [];
    for await (const rows of mergeOrdered(
      pulls.map((pull) => pull.next),
      order,
    ))
      merged.push(...rows.map(({ item }) => item));
    expect(merged, `bytes ${bytes.join()}`).toEqual(all.map(({ item }) => item));
  }
});

test('the first rows come after one batch of each stream', async () => {
  const rows = Array.from({ length: 1000 }, (_, index) => ({
    item: String(index),
    at: [times[0] ?? '', String(1000 - index)],
  }));
  const pulls = [rows.slice(0, 500), rows.slice(500)].map((own) => pullOf(own, [100]));
  const first = await mergeOrdered(
    pulls.map((pull) => pull.next),
    order,
  ).next();
  expect(first.value).toHaveLength(100);
  expect(pulls.map(({ pulled }) => pulled)).toEqual([1, 1]);
});

test('an error of a stream ends the merge', async () => {
  const pulls = [
    () => Promise.resolve([{ item: 'x', at: [times[0] ?? '', '1'] }]),
    () => Promise.reject(new Error('node')),
  ];
  await expect(mergeOrdered(pulls, order).next()).rejects.toThrow('node');
});
