import { expect, test } from 'vitest';
import { parseJson, readAgeMs, readBytes } from './answer.ts';

test('a length that is announced beside chunks does not lift the limit', async () => {
  const headers = { 'content-length': '5', 'transfer-encoding': 'chunked' };
  await expect(readBytes(new Response('x'.repeat(1000), { headers }), 100)).rejects.toThrow('more than 100 bytes');
});

test('each chunk of a body is copied when it arrives, so that a small one does not keep its large buffer', async () => {
  const buffer = new Uint8Array(65_536);
  let sent = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        if (sent === 200_000) return controller.close();
        sent += 1;
        buffer.fill(sent % 2 === 0 ? 0x62 : 0x61, 0, 1);
        return controller.enqueue(buffer.subarray(0, 1));
      },
    },
    { highWaterMark: 0 },
  );
  expect((await readBytes(new Response(body), 200_000)).toString()).toBe('ab'.repeat(100_000));
});

test('ids beyond 2^53 keep every digit', () => {
  const read = (digits: string) => parseJson(`{"id":${digits},"size":12,"rate":1.5}`);
  expect(read('9007199254740993')).toEqual({ id: '9007199254740993', size: 12, rate: 1.5 });
  expect(read('\n -9007199254740993')).toMatchObject({ id: '-9007199254740993' });
  expect(read('[9007199254740993]')).toMatchObject({ id: ['9007199254740993'] });
});

test('an integer of many digits in one row costs nothing if another row is nested too deep', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  expect(parseJson(`[{"id": 9007199254740993}, ${deep}, {"id": 5}]`)).toHaveLength(3);
});

test('an Age that cannot be read is an unknown one', () => {
  const ages = ['60', '0', '-1', '1.5', '60, 5', 'soon', ''].map((age) => readAgeMs(new Headers({ age })));
  expect(ages).toEqual([60_000, 0, ...Array.from({ length: 5 }, () => Infinity)]);
  expect(readAgeMs(new Headers())).toBe(0);
});
