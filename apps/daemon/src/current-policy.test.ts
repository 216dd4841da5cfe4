import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@keywarden/core/config';
import { readEnvironment } from '@keywarden/core/process';
import { expect, test } from 'vitest';
import { bed, day, enforced, openIncidents, prepare, revokedNames, useApplyBed } from './enforce/apply-bed.ts';
import { resumeEnforcement } from './enforce/high-water-mark.ts';
import { jobs } from './schedule/jobs.ts';

useApplyBed();

test('R6: a daemon that runs goes by the configuration file as it is now; while that cannot be used it judges and revokes nothing', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await resumeEnforcement(bed.context, 'ada');
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-reload-'));
  const file = join(folder, 'keywarden.yaml');
  const environment = readEnvironment({ KEYWARDEN_CONFIG: file });
  const context = { ...bed.context, rereadConfig: () => readConfig(environment, {}, { secrets: false }) };
  const rule = (mode: string) =>
    `policy:\n  enforcement: {organizations: {'*': {mode: enforce}}}\n  rules: [{name: never-used, never_used_for: 30d, action: revoke, mode: ${mode}}]\n`;
  const work = async () => {
    for (let passes = 0; passes < 3; passes += 1) {
      await bed.control('POST', 'clock', { advance_seconds: day });
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
