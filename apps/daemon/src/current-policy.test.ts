import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listReplicaPolicies, recordReplicaPolicy } from '@keywarden/db/daemon';
import { readEnvironment } from '@keywarden/runtime';
import { readConfig } from '@keywarden/runtime/config';
import {
  day,
  enforced,
  fixture,
  openIncidents,
  pass,
  prepare,
  revokedNames,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { expect, test } from 'vitest';
import { armMachine } from './enforce/high-water-mark.ts';
import { jobs } from './schedule/jobs.ts';

useApplyFixture();

test('R6: a running daemon applies the current configuration file; while the file cannot be used, it judges and revokes nothing', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-reload-'));
  const file = join(folder, 'keywarden.yaml');
  const environment = readEnvironment({ KEYWARDEN_CONFIG: file });
  const context = {
    ...fixture.context,
    replica: randomUUID(),
    rereadConfig: () => readConfig(environment, {}, { secrets: false }),
  };
  const rule = (mode: string) =>
    `policy:\n  enforcement: {organizations: {'*': {mode: enforce}}}\n  rules: [{name: never-used, never_used_for: 30d, action: revoke, mode: ${mode}}]\n`;
  const work = async () => {
    for (let passes = 0; passes < 3; passes += 1) {
      await fixture.controls.advance(day);
      await jobs.enforce.run(context, ['main']);
    }
  };
  writeFileSync(file, rule('report'));
  await work();
  expect(await revokedNames()).toEqual([]);
  writeFileSync(file, 'policy: {rules: [{name: never-used, never_used_for: soon, action: revoke}]}\n');
  await work();
  expect(await revokedNames()).toEqual([]);
  expect(await openIncidents()).toEqual(['configuration']);
  writeFileSync(file, rule('enforce'));
  await work();
  expect(await revokedNames()).toEqual(['one']);
  expect(await openIncidents()).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
});

test('R6: replicas with different policies revoke nothing automatically until they agree', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  const { db } = fixture.context.store;
  const other = randomUUID();
  const context = { ...fixture.context, replica: randomUUID() };
  const work = async () => {
    for (let passes = 0; passes < 3; passes += 1) {
      await fixture.controls.advance(day);
      await jobs.enforce.run(context, ['main']);
    }
    return await revokedNames();
  };
  await recordReplicaPolicy(db, { replica: other, policySha256: 'another', why: null });
  expect(await work()).toEqual([]);
  expect(await openIncidents()).toEqual(['configuration']);
  await recordReplicaPolicy(db, { replica: other, policySha256: null, why: 'its file does not exist' });
  expect(await work()).toEqual([]);
  const own = (await listReplicaPolicies(db)).find(({ replica }) => replica === context.replica);
  await recordReplicaPolicy(db, { replica: other, policySha256: own?.policySha256 ?? null, why: null });
  expect(await work()).toEqual(['one']);
  expect(await openIncidents()).toEqual([]);
});

test('R6: the policy of a replica that is no longer running blocks nothing', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await recordReplicaPolicy(fixture.context.store.db, { replica: randomUUID(), policySha256: 'another', why: null });
  expect((await pass(day)).why).toMatch(/different policies/);
  await fixture.owner.sql`update keywarden.replica_policy set said_at = now() - interval '4 minutes'`;
  expect((await pass(day)).why).toBeNull();
  // It ended while the database's clock was a day ahead.
  await fixture.owner.sql`update keywarden.replica_policy set said_at = now() + interval '1 day'`;
  expect((await pass(day)).why).toBeNull();
});
