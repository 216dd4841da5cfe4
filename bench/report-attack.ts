import { makeToken } from '@keywarden/testkit/store/principal';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import { count, median, quantile, timed } from './measure.ts';

export type Headers = Record<string, string>;

/** Returns the headers of a new token. */
export async function headersOf(store: TestStore, name: string): Promise<Headers> {
  const { secret } = await makeToken(store, name, 'auditor');
  return { authorization: `Bearer ${secret}` };
}

/** How long the attack lasts, in ms; how many heavy requests it has under way, and when it drops each, in ms. */
const attack = { lastsMs: 20_000, requests: 40, dropsMs: 500 };

/**
 * Prints the latency of one reader's /v1/keys while another token fires heavy requests and drops them. The yardstick is the same reader alone, before
 * the attack.
 */
export async function printAttack(
  url: string,
  { honest, attacker }: { honest: Headers; attacker: Headers },
): Promise<void> {
  const keys = `${url}/v1/keys`;
  const alone = await latenciesOf(keys, honest, attack.lastsMs / 4);
  const heavy = `${url}/v1/operations/buckets?size=month&from=2000-01-01T00:00:00Z&to=2026-06-01T00:00:00Z`;
  const endsMs = performance.now() + attack.lastsMs;
  const ends = { dropped: 0, busy: 0, other: 0 };
  const fire = async () => {
    while (performance.now() < endsMs) {
      try {
        const response = await fetch(heavy, { headers: attacker, signal: AbortSignal.timeout(attack.dropsMs) });
        await response.arrayBuffer();
        ends[response.status === 503 ? 'busy' : 'other'] += 1;
      } catch {
        ends.dropped += 1; // its own timeout
      }
    }
  };
  const [attacked] = await Promise.all([
    latenciesOf(keys, honest, attack.lastsMs),
    ...Array.from({ length: attack.requests }, fire),
  ]);
  const words = (times: number[]) =>
    `p50 ${median(times).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms, ${count(times.length)} requests`;
  console.log(`alone      /v1/keys of one reader: ${words(alone)}`);
  console.log(
    `attacked   /v1/keys of the same reader: ${words(attacked)}; the other token had ${count(ends.dropped)} heavy requests dropped, ${count(ends.busy)} refused as busy, ${count(ends.other)} answered`,
  );
  console.log(
    `ratio      p99 under attack is ${(quantile(attacked, 0.99) / quantile(alone, 0.99)).toFixed(1)} times that alone`,
  );
}

async function latenciesOf(url: string, headers: Headers, forMs: number): Promise<number[]> {
  const times: number[] = [];
  for (const endsMs = performance.now() + forMs; performance.now() < endsMs; ) {
    const { seconds, result } = await timed(async () => await (await fetch(url, { headers })).text());
    if (!result.startsWith('{"items":[{')) throw new Error(`no keys: ${result.slice(0, 200)}`);
    times.push(seconds * 1000);
  }
  return times;
}
