import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { startTracing, traceEnded } from './tracing.ts';

const collected: string[] = [];
const collector = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (part: string) => (body += part));
  request.on('end', () => {
    collected.push(body);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
});
beforeAll(async () => {
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(collector.address() as AddressInfo).port}`);
});
afterEach(() => void vi.useRealTimers());
afterAll(() => {
  vi.unstubAllEnvs();
  collector.close();
});

test('a span lasts as long as its work, although the clock was set since the process began', async () => {
  const endTracing = await startTracing(process.env.OTEL_EXPORTER_OTLP_ENDPOINT, 'test');
  const shifts = [0, 3_600_000, -3_600_000];
  const startMs = Date.now();
  for (const shiftMs of shifts) {
    vi.useFakeTimers({ toFake: ['Date'], now: startMs + shiftMs });
    traceEnded('request', {}, { as: 'client', durationMs: 50, isError: false });
  }
  vi.useRealTimers();
  await endTracing();
  const spans = collected.flatMap((each) => [
    ...each.matchAll(/"startTimeUnixNano":"(?<start>\d+)","endTimeUnixNano":"(?<end>\d+)"/g),
  ]);
  const lengths = spans.map(({ groups }) => (BigInt(groups?.end ?? 0) - BigInt(groups?.start ?? 0)) / 1_000_000n);
  expect(lengths).toEqual([50n, 50n, 50n]);
  // 3 is a client's span in OTLP.
  expect(collected.join('').match(/"kind":\d/g)).toEqual(['"kind":3', '"kind":3', '"kind":3']);
});
