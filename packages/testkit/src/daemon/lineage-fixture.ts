import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sink } from '@keywarden/runtime/config';
import { expect } from 'vitest';
import type { Order } from './rotate-crash-process.ts';
import {
  day,
  everyKey,
  fixture,
  folder,
  liveNames,
  type Minted,
  openIncidents,
  parseSinks,
  pass,
  passElsewhere,
  secretOf,
  states,
  store,
  use,
} from './rotate-fixture.ts';

// A key lineage under faults: weeks of a daemon and a consumer, and the conditions that must hold at the end.

export const path = '/organizations/{org_id}/api_keys';

/**
 * Ages everything that is measured by the local clock, so that tests do not wait. For example, an intent is decided by listings that begin five
 * minutes after it.
 */
export async function age(): Promise<void> {
  for (const table of ['rotation_mint', 'revocation_intent'])
    await store.sql.unsafe(`update keywarden.${table} set created_at = created_at - interval '10 minutes'`);
  await store.sql`update keywarden.rotation_event set recorded_at = recorded_at - interval '1 hour'`;
  await store.sql`update keywarden.revocation_outcome set at = at - interval '1 day'`;
}

/** Lets the store forget the result of the last delivery: it has what it has when a process is killed between a sink's write and its record. */
export async function forgetDelivery(): Promise<void> {
  store.isTampered();
  await store.sql`update keywarden.rotation_mint set outcome = null, delivered_at = null`;
  await store.sql`delete from keywarden.rotation_event where state in ('delivered', 'overlapping')`;
}

/** Writes a shell script into the folder of the sinks, and returns its path. */
export function writeScript(name: string, body: string): string {
  const script = join(folder, name);
  writeFileSync(script, `#!/bin/sh\n${body}\n`);
  chmodSync(script, 0o755);
  return script;
}

/**
 * Simulates weeks of a daemon and a consumer that reads its sink once a day and uses what it finds. Checks that the consumer never holds only dead
 * keys. It ends `after` passes after the lineage is complete.
 */
export async function live(bot: Minted, days = 24, after = 3): Promise<void> {
  await fixture.controls.setFaults([]);
  let held = bot.key;
  for (let left = days; left > 0; left -= 1) {
    await age();
    await pass(day);
    if ((await states()).includes('bot: retired')) left = Math.min(left, after);
    const found = readSink(bot);
    if (found !== undefined) held = found;
    expect(await use(held)).toBe(200);
    await expectKnown();
  }
}

function readSink(bot: Minted): string | undefined {
  try {
    return secretOf(bot.id);
  } catch {
    return undefined;
  }
}

/** T2: checks that the store has every live key after a run. */
async function expectKnown(): Promise<void> {
  const known = await store.sql`
    select id from keywarden.key where gone_at is null
    union select key_id from keywarden.rotation_mint where key_id is not null`;
  const live = (await everyKey()).filter(({ revoked_at: revoked }) => revoked === null);
  expect(live.filter(({ id }) => !known.some((row) => Number(row.id) === id))).toEqual([]);
}

/** Checks the end state. The lineage has one live key, the one in its sink. Every other minted key is gone and unused. */
export async function expectWhole(bot: Minted): Promise<void> {
  const keys = (await everyKey()).filter(({ name }) => name.startsWith('bot'));
  const live = keys.filter(({ revoked_at: revoked }) => revoked === null);
  expect(live).toHaveLength(1);
  expect(await use(secretOf(bot.id))).toBe(200);
  expect(await use(bot.key)).toBe(401);
  const orphans = keys.filter(({ id, revoked_at: revoked }) => revoked !== null && id !== bot.id);
  expect(orphans.map(({ last_used_at: used }) => used)).toEqual(orphans.map(() => null));
  expect(await liveNames()).toContain('survivor');
  expect(await openIncidents()).toEqual([]);
  expect((await states()).filter((state) => state.startsWith('bot: re'))).toEqual(['bot: retired']);
}

/** Returns a sink whose command stores secrets and lists them, and a sink that only stores. */
export function commandSinks({ reads, store: storing }: { reads: boolean; store: string }): Sink[] {
  const script = writeScript('store.sh', `set -e\nfile="${folder}/key-$KEYWARDEN_LINE"\n${storing}`);
  const read = writeScript('read.sh', `cat "${folder}/key-$KEYWARDEN_LINE.id" 2>/dev/null || true`);
  return parseSinks([
    { name: 'files', kind: 'command', command: [script], ...(reads ? { read_command: [read] } : {}) },
  ]);
}

export const storesBoth = 'cat > "$file.new"; mv "$file.new" "$file"; printf %s "$KEYWARDEN_KEY_ID" > "$file.id"';

export const fault = { method: 'POST', path, times: 1 };

export const list = { method: 'GET', path };

export const revocation = { method: 'DELETE', path: `${path}/{key_id}`, times: 1 };

/** Exempts a key, by name, so that only the bot is rotated. */
export async function exempt(name: string): Promise<void> {
  await store.sql`
    with granted as (
      insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('test', 'ada', now(), now() + interval '10 years') returning number)
    insert into keywarden.exemption_key select g.number, k.number from granted g, keywarden.key k where k.name = ${name}`;
}

export const runCrashProcess = async (sinks: Sink[], killAt: Order['killAt']) =>
  (await passElsewhere({ sinks, killAt })).signal;

export const organizationId = async () => {
  const { organizations } = await fixture.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  return organizations[0]?.id;
};
