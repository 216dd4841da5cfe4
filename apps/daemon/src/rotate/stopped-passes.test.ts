import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, noLimiter } from '@keywarden/core/client';
import { policySchema } from '@keywarden/core/policy';
import { silentProgress } from '@keywarden/daemon';
import { until } from '@keywarden/testkit';
import { age, exempt, fault, forgetDelivery, writeScript } from '@keywarden/testkit/daemon/lineage-fixture';
import {
  ask,
  fixture,
  folder,
  liveNames,
  openIncidents,
  parseSinks,
  pass,
  prepare,
  states,
  store,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';
import { jobs } from '../schedule/jobs.ts';
import { rotate } from './rotate.ts';

// Passes that a signal or a kill ends before they are done.

useRotateFixture();

const quiet = policySchema.parse({ rules: [] });
const stop = new Error('the process ends');
const stores = () => writeScript('store.sh', `cat > "${folder}/key-$KEYWARDEN_LINEAGE"`);
/** Returns a sink whose read_command says that it has begun, and does not end. */
function sinkThatHangs() {
  const read = writeScript('read.sh', `: > "${folder}/asked"; exec sleep 600`);
  return parseSinks([{ name: 'files', kind: 'command', command: [stores()], read_command: [read] }]);
}
const isAsked = () => existsSync(join(folder, 'asked'));

/** Makes a pass whose signal aborts as soon as `isReached`. */
async function stoppedPass(isReached: () => boolean): Promise<unknown> {
  const stopping = new AbortController();
  const { context, connections } = fixture;
  const passed = rotate({ ...context, signal: stopping.signal }, connections);
  await until(isReached);
  stopping.abort(stop);
  return await passed.catch((error: unknown) => error);
}

test('T2: a pass that ends while it asks a sink concludes nothing about a delivery', async () => {
  await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  await forgetDelivery();
  fixture.context.config.sinks = sinkThatHangs();
  await store.sql`update keywarden.rotation_mint set place = null`;
  await age();
  await pass(3700, { acts: false });
  expect(await stoppedPass(isAsked)).toBe(stop);
  expect(await states()).toEqual(['bot: minted']);
  expect(await openIncidents()).toEqual([]);
});

test('T2: a pass that ends while it asks a sink about an orphan opens no incident', async () => {
  await prepare(['bot', 'survivor'], { sinks: [] });
  fixture.context.config.sinks = sinkThatHangs();
  await exempt('survivor');
  await fixture.controls.setFaults([{ ...fault, kind: 'lose_response' }]);
  await pass();
  await age();
  await pass(60, { acts: false });
  // Another machine has made a mark: this one cannot exclude that a sink has the secret, without asking.
  await store.sql`insert into keywarden.high_water_mark (mark, made_by) values (gen_random_uuid(), 'daemon')`;
  expect(await stoppedPass(isAsked)).toBe(stop);
  expect(await openIncidents()).toEqual([]);
});

test('T2: a mint that a signal stops before it is sent is not sent, and leaves no intent to wait for', async () => {
  await prepare(['bot', 'survivor']);
  await exempt('survivor');
  const stopping = new AbortController();
  const limiter = {
    ...noLimiter,
    wait: (route: string) => Promise.resolve(route.startsWith('POST') ? stopping.abort(stop) : undefined),
  };
  const { url: baseUrl, adminKey: apiKey } = fixture.sandbox;
  const { context, connections } = fixture;
  const stopped = connections.map((each) => ({
    ...each,
    client: createClient({ baseUrl, apiKey, limiter, time: each.time }),
  }));
  await expect(rotate({ ...context, signal: stopping.signal }, stopped)).rejects.toBe(stop);
  expect(await liveNames()).toEqual(['bot', 'survivor']);
  await pass(60);
  expect(await states()).toEqual(['bot: delivered']);
});

test('a pass that a signal stops between two rotations is not done, and its job is handed back', async () => {
  await prepare(['bot', 'two'], { policy: quiet });
  await ask(['bot', 'two'], 'files');
  await fixture.controls.advance(3700);
  const stopping = new AbortController();
  const part = (label: string) => ({
    update: (index: number) => void (label === 'rotations' && index === 1 && stopping.abort(stop)),
    end: () => undefined,
  });
  const context = { ...fixture.context, signal: stopping.signal, progress: { ...silentProgress, part } };
  await expect(jobs.rotate.run(context, ['main'])).rejects.toBe(stop);
  const ends = (await states()).filter((state) => state.endsWith(': overlapping'));
  expect(ends).toHaveLength(1);
});

test('a rotation whose successor was minted is not shown as planned if that cannot be recorded', async () => {
  await prepare(['bot', 'two'], { policy: quiet });
  await store.sql`revoke update on keywarden.rotation_mint from keywarden_daemon`;
  const { moved } = await ask(['bot'], 'files');
  expect(await liveNames()).toHaveLength(3);
  expect(moved.map(({ rotation, hasFailed }) => [rotation.state, hasFailed])).toEqual([['minting', true]]);
});

test('R10: the job of rotations fails, and is retried, if the machine can write no mark after its pass', async () => {
  await prepare(['bot', 'two'], { policy: quiet });
  await ask(['bot'], 'files');
  const { context } = fixture;
  const end = () => void Object.assign(context.environment, { KEYWARDEN_DATA: '/proc/self' });
  const part = (label: string) => ({ update: () => undefined, end: label === 'rotations' ? end : () => undefined });
  const passed = jobs.rotate.run({ ...context, progress: { ...silentProgress, part } }, ['main']);
  await expect(passed).rejects.toThrow(/high-water mark could not be updated/);
});

test('R10: after a kill between a delivery and its record, a store that lost the id of the key is an older one', async () => {
  await prepare(['bot', 'survivor']);
  await exempt('survivor');
  const file = join(fixture.context.environment.KEYWARDEN_DATA, 'high-water-mark');
  const kept = join(folder, 'mark');
  const script = writeScript('kill.sh', `cat > "${folder}/key-$KEYWARDEN_LINEAGE"; cp "${file}" "${kept}"`);
  fixture.context.config.sinks = parseSinks([{ name: 'files', kind: 'command', command: [script] }]);
  await pass();
  // The machine has the mark of the kill, and the store what it had right before the response.
  copyFileSync(kept, file);
  await forgetDelivery();
  await store.sql`update keywarden.rotation_mint set key_id = null`;
  await store.sql`
    with lost as (delete from keywarden.rotation_event where state = 'minted' returning recorded_at)
    delete from keywarden.high_water_mark where made_at > (select recorded_at from lost)`;
  await age();
  await pass(60, { acts: false });
  expect((await pass(60))?.why).toMatch(/an older copy/);
});
