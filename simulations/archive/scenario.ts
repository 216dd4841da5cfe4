import { createRandom, createSandbox, noLimits, type Random, type Sandbox, seedOf } from '@keywarden/sandbox';
import { mostLagMs } from '@keywarden/testkit';
import { type Controls, createControls } from '@keywarden/testkit/sandbox/controls';
import { directTo } from './direct.ts';

/** A control plane with a few projects and all events in it, as the seed decides. Times are the sandbox's own. */
export interface Scenario {
  random: Random;
  sandbox: Sandbox;
  projectIds: string[];
  /** Advances time and adds operations: in groups with one time, late, and in progress. */
  live(seconds: number): Promise<void>;
  /** Makes one event that may happen between any two requests of a walk. */
  disturb(): Promise<void>;
  /** Arms faults that end automatically. */
  breakSomething(): Promise<void>;
  /** Returns every operation that lists have ever shown, with its time, by project. */
  truth(): Promise<Map<string, Map<string, string>>>;
  controls: Controls;
  /** The fetch to the sandbox. */
  fetch: typeof fetch;
  /** The control plane's time in ms, and a sleep by it. */
  now: () => number;
  sleep: (ms: number) => Promise<void>;
  close(): Promise<void>;
}

const minute = 60;
const day = 86_400;
/** Late rows appear within `settle`, 15 minutes, even where a lagging replica shows them. */
const lateWithinSettle = 14 * minute;
const lateOnReplicas = lateWithinSettle - mostLagMs / 1000;

export interface ScenarioOptions {
  seed: number;
  /** The most rows of one group. */
  largestGroup: number;
  /** The most operations of a project at the beginning. */
  history: number;
  /** Whether lagging replicas may be in between. */
  hasReplicas?: boolean;
  /** Whether time advances only on request, so that a seed always gives the same run. */
  isFrozen?: boolean;
}

/** The start time of scenarios whose time is frozen. */
const startMs = Date.parse('2026-06-15T09:30:00.250Z');

/** Draws how lists end and what times look like: services of this shape differ. */
export function drawSettings(seed: number) {
  // Uses a random source of its own, so that the rest of the seed's run does not depend on it.
  const random = createRandom(seedOf(`settings ${seed}`));
  return {
    pagination: random.pick(['every_page', 'full_pages']),
    times: random.pick(['seconds', 'microseconds']),
  };
}

export async function createScenario({
  seed,
  largestGroup,
  history,
  hasReplicas = false,
  isFrozen = false,
}: ScenarioOptions): Promise<Scenario> {
  const random = createRandom(seed);
  const realNowMs = () => (isFrozen ? startMs : Date.now());
  const latest = hasReplicas ? lateOnReplicas : lateWithinSettle;
  const sandbox = await createSandbox({
    limits: noLimits,
    realNowMs,
    work: { operations_per_day: random.below(4), seed },
  });
  const way = isFrozen ? directTo(sandbox) : fetch;
  const request = async (method: string, url: string, body: unknown) => {
    const response = await way(url, {
      method,
      headers: { authorization: `Bearer ${sandbox.adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { ok: response.ok, json: await response.json() };
  };
  const controls = createControls(sandbox.controlUrl, way);
  await controls.setSettings(drawSettings(seed));
  const projects = random.between(1, 3);
  // Some projects are older than the served period, some younger.
  const months = random.pick([1, 3, 9]);
  await controls.generate({
    organizations: 2,
    projects,
    keys: 0,
    operations: random.between(0, history),
    months,
    seed,
  });
  const rows = await controls.projects();
  const projectIds = rows.map(({ id }) => id);
  const organizationIds = [...new Set(rows.map((row) => row.organization_id))];

  const groupOf = (age: number) => ({
    count: random.chance(0.85) ? random.between(1, 3) : random.between(1, largestGroup),
    age_seconds: age,
    late_seconds: random.chance(0.2) ? random.between(1, Math.max(1, latest - age)) : 0,
    going_on_seconds: random.chance(0.1) ? random.between(1, 3 * day) : 0,
  });
  const add = async (most: number) => {
    const ages = Array.from({ length: random.between(0, most) }, () => random.below(5 * minute));
    if (ages.length > 0) await controls.addOperations(random.pick(projectIds), ages.map(groupOf));
  };
  const transfer = async () => {
    const [from, to] = random.chance(0.5) ? organizationIds : organizationIds.toReversed();
    if (from === undefined || to === undefined) return;
    // If the project is already in the other organization, or gone, nothing happens.
    const body = { destination_org_id: to, project_ids: [random.pick(projectIds)] };
    await request('POST', `${sandbox.url}/organizations/${from}/projects/transfer`, body);
  };
  let offsetMs = 0;
  const advance = async (seconds: number) => {
    const now = await controls.advance(seconds);
    offsetMs = Date.parse(now) - realNowMs();
  };
  await advance(0);

  return {
    random,
    sandbox,
    projectIds,
    controls,
    fetch: way,
    now: () => realNowMs() + offsetMs,
    sleep: async (ms) => await advance(ms / 1000),
    async live(seconds) {
      const steps = random.between(1, 3);
      for (let step = 0; step < steps; step += 1) {
        await advance(seconds / steps);
        await add(6);
      }
      if (random.chance(0.1)) await transfer();
      if (random.chance(0.05)) await request('DELETE', `${sandbox.url}/projects/${random.pick(projectIds)}`, undefined);
    },
    async disturb() {
      const what = random.next();
      if (what < 0.5) await add(10);
      else if (what < 0.7) await advance(random.between(1, 20 * minute));
      else if (what < 0.75) await advance(random.between(1, 40) * day);
      else if (what < 0.8) await transfer();
    },
    async breakSomething() {
      const path = random.pick(['/projects/{project_id}/operations', '/projects', '']);
      const how = { after: random.below(6), times: random.between(1, 3), ...(path === '' ? {} : { path }) };
      const kind = random.pick([
        'status',
        'drop',
        'truncate',
        'lose_response',
        'latency',
        'partial_projects',
        'late_commit',
      ]);
      const extra = { status: { status: random.pick([429, 500, 502, 503]) }, latency: { latency_ms: 5 } }[kind] ?? {};
      // The lateness of the control plane's own work stays within settle too.
      const fault = kind === 'late_commit' ? { kind, latency_ms: latest * 1000 } : { kind, ...how, ...extra };
      await controls.setFaults([fault]);
    },
    async truth() {
      const all = new Map<string, Map<string, string>>();
      for (const id of projectIds) {
        const { created_at: times } = await controls.operations(id, { withTimes: true });
        all.set(id, new Map(Object.entries(times)));
      }
      return all;
    },
    close: () => sandbox.close(),
  };
}
