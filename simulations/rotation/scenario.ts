import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fixture } from '@keywarden/testkit/daemon/fixture';

/** How a consumer adopts a new secret: it reads its sink this many days after a change; null if it never does. */
interface Habit {
  adoptsAfter: number | null;
  usesEvery: number;
}

/** A program that works with a key, and its current secret. */
interface Consumer extends Habit {
  lineage: string;
  held: string;
  /** The secret that it has read in its sink and will adopt, and the day of adoption. */
  next: { secret: string; day: number } | null;
}

interface Lineage {
  id: string;
  name: string;
  consumers: Consumer[];
}

export interface Scenario {
  lineages: Lineage[];
  /** Members who created keys and have not left yet, by their member ids. */
  leavers: string[];
  organization: string;
}

interface Made {
  id: number;
  key: string;
}

/** Returns a source of numbers from 0 to 1 that the seed determines (mulberry32). */
export function makeRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Returns an organization with this many keys of every kind that can be rotated. Members who will leave made some of them. Each key has its own
 * consumers.
 */
export async function makeScenario(
  fixture: Fixture,
  { keys, random, secrets }: { keys: number; random: () => number; secrets: string[] },
): Promise<Scenario> {
  const before = secrets.length;
  await fixture.controls.generate({ organizations: 1, projects: 3, keys: 20, operations: 0 });
  const { organizations } = await fixture.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  const organization = organizations[0]?.id ?? '';
  const members = await makers(fixture, { organization, made: secrets.slice(before) });
  const { projects } = await fixture.ask<{ projects: { id: string }[] }>('GET', `/projects?org_id=${organization}`);
  const lineages: Lineage[] = [];
  for (let index = 0; index < keys; index += 1) {
    const name = `app-${index}`;
    const member = members[index % Math.max(1, members.length)];
    const project = projects[index % projects.length]?.id;
    const made = await make(fixture, { index, name, organization, project, member: member?.secret });
    lineages.push({ id: String(made.id), name, consumers: makeConsumers(made, random) });
  }
  return { lineages, leavers: members.map(({ memberId }) => memberId), organization };
}

/** Returns personal keys of members who are not administrators. What they make with them stays when they leave. */
async function makers(
  fixture: Fixture,
  { organization, made }: { organization: string; made: string[] },
): Promise<{ memberId: string; secret: string }[]> {
  const { members } = await fixture.ask<{ members: { member: { id: string; user_id: string; role: string } }[] }>(
    'GET',
    `/organizations/${organization}/members`,
  );
  const found: { memberId: string; secret: string }[] = [];
  for (const secret of made) {
    const response = await fetch(`${fixture.sandbox.url}/auth`, { headers: { authorization: `Bearer ${secret}` } });
    const whose = (await response.json()) as { account_id: string; auth_method: string };
    const member = members.find((each) => each.member.user_id === whose.account_id)?.member;
    if (whose.auth_method === 'api_key_user' && member?.role === 'member') found.push({ memberId: member.id, secret });
  }
  return found;
}

/** Makes keys in a fixed ratio. Of ten keys, six belong to the organization, three to a project (two of them made by a member), and one is personal. */
async function make(
  fixture: Fixture,
  {
    index,
    name,
    organization,
    project,
    member,
  }: { index: number; name: string; organization: string; project: string | undefined; member: string | undefined },
): Promise<Made> {
  const path = `/organizations/${organization}/api_keys`;
  if (index % 10 === 9) return await fixture.ask<Made>('POST', '/api_keys', { key_name: name });
  if (index % 10 < 6) return await fixture.ask<Made>('POST', path, { key_name: name });
  if (index % 10 === 6 || member === undefined)
    return await fixture.ask<Made>('POST', path, { key_name: name, project_id: project });
  const response = await fetch(`${fixture.sandbox.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${member}`, 'content-type': 'application/json' },
    body: JSON.stringify({ key_name: name, project_id: project }),
  });
  return (await response.json()) as Made;
}

/** Most consumers adopt at once, some weeks late, some in part, and few never. */
function makeConsumers({ id, key }: Made, random: () => number): Consumer[] {
  const kind = random();
  const consumer = (adoptsAfter: number | null, usesEvery = 1 + Math.floor(random() * 3)): Consumer => ({
    lineage: String(id),
    held: key,
    next: null,
    adoptsAfter,
    usesEvery,
  });
  if (kind < 0.6) return [consumer(Math.floor(random() * 2))];
  if (kind < 0.75) return [consumer(Math.floor(random() * 25))];
  if (kind < 0.9) return [consumer(0), consumer(5 + Math.floor(random() * 40))];
  return kind < 0.97 ? [consumer(0, 7)] : [consumer(null)];
}

/** Simulates one day of all consumers. Each reads its sink, adopts a secret when it is due, and uses the secret that it holds. */
export async function liveDay(
  fixture: Fixture,
  scenario: Scenario,
  { day, folder }: { day: number; folder: string },
): Promise<string[]> {
  const outages: string[] = [];
  for (const { name, consumers } of scenario.lineages) {
    for (const consumer of consumers) {
      adopt(consumer, { day, folder });
      if (day % consumer.usesEvery !== 0) continue;
      const headers = { authorization: `Bearer ${consumer.held}` };
      const response = await fetch(`${fixture.sandbox.url}/auth`, { headers });
      await response.body?.cancel();
      if (response.status !== 200) outages.push(`day ${day}: ${name} was answered ${response.status}`);
    }
  }
  return outages;
}

function adopt(consumer: Consumer, { day, folder }: { day: number; folder: string }): void {
  const found = readSink(join(folder, `key-${consumer.lineage}`));
  if (found === null || consumer.adoptsAfter === null) return;
  if (found !== consumer.held && found !== consumer.next?.secret)
    consumer.next = { secret: found, day: day + consumer.adoptsAfter };
  if (consumer.next !== null && day >= consumer.next.day) {
    consumer.held = consumer.next.secret;
    consumer.next = null;
  }
}

function readSink(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null; // nothing has been delivered yet
  }
}
