import type { Sandbox } from '@keywarden/sandbox';
import type { Controls } from '@keywarden/testkit/sandbox/controls';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import type { Fleet } from './fleet.ts';
import type { Receiver } from './receiver.ts';

/** What a simulation run uses. */
export interface Scene {
  store: TestStore;
  sandbox: Sandbox;
  receiver: Receiver;
  fleet: Fleet;
  controls: Controls;
  /** The schedule times that the simulation advanced to, by schedule. */
  times: Map<string, number[]>;
  /** The first of these times, by the sandbox's clock. */
  beganMs: number;
  kills: number;
}

/** The result of a simulation run. `wrong` lists every defect, a sentence each. */
export interface Lived {
  days: number;
  /** The number of schedule times. */
  slots: number;
  /** Attempts at jobs, by machine. */
  spread: number[];
  kills: number;
  requests: number;
  operations: number;
  notices: number;
  revoked: number;
  wrong: string[];
}

/** Checks that everything ran once and that nothing is stored twice. */
export async function checkSimulation(scene: Scene, { days }: { days: number }): Promise<Lived> {
  const { store, controls, fleet, receiver, kills } = scene;
  const wrong = fleet.complaints.map((text) => `a replica complained: ${text}`);
  const stats = await controls.stats();
  if (stats.rate_limited > 0) wrong.push(`${stats.rate_limited} requests were answered 429`);
  wrong.push(...(await checkSlots(scene)), ...(await checkArchive(scene)), ...checkNotices(receiver.received));

  const runs = await store.sql<{ replica: string; attempts: number }[]>`
    select replica::text as replica, count(*)::int as attempts from keywarden.job_run group by replica`;
  const spread = fleet.replicas.map((own) =>
    runs.filter(({ replica }) => own.includes(replica)).reduce((sum, { attempts }) => sum + attempts, 0),
  );
  const all = spread.reduce((sum, attempts) => sum + attempts, 0);
  // An even share would be a third each; a machine with a tenth of its share is not idle.
  for (const [machine, attempts] of spread.entries())
    if (attempts < all / spread.length / 10) wrong.push(`machine ${machine} made ${attempts} of ${all} attempts`);
  const [revoked] =
    await store.sql`select count(*)::int as keys from keywarden.revocation_outcome where outcome = 'revoked'`;
  const [stored] = await store.sql`select count(*)::int as operations from keywarden.operation`;
  return {
    days,
    slots: [...scene.times.values()].flat().length,
    spread,
    kills,
    requests: stats.requests,
    operations: Number(stored?.operations),
    notices: receiver.received.length,
    revoked: Number(revoked?.keys),
    wrong,
  };
}

/** Checks that each time of each schedule is one slot with one job per account, and that the job was done once. */
async function checkSlots({ store, times, kills, beganMs }: Scene): Promise<string[]> {
  const wrong: string[] = [];
  const rows = await store.sql<
    { kind: string; at: number; jobs: number; done: number; failed: number; handed_back: number; cut: number }[]
  >`
    select s.schedule as kind, extract(epoch from s.slot_at)::float8 * 1000 as at, s.jobs,
      count(*) filter (where r.outcome = 'done')::int as done, count(*) filter (where r.outcome = 'failed')::int as failed,
      count(*) filter (where r.outcome = 'handed_back')::int as handed_back,
      count(*) filter (where r.number is not null and r.outcome is null)::int as cut
    from keywarden.schedule_slot s left join keywarden.job_run r on r.kind = s.schedule and r.slot_at = s.slot_at
    group by s.schedule, s.slot_at, s.jobs`;
  const slots = new Map(rows.map((row) => [`${row.kind} ${row.at}`, row]));
  for (const [kind, all] of times)
    for (const at of all) {
      const slot = slots.get(`${kind} ${at}`);
      const time = `${kind} of ${new Date(at).toISOString()}`;
      if (slot === undefined) wrong.push(`${time} was not enqueued`);
      else if (slot.jobs !== 1 || slot.done !== 1)
        wrong.push(
          `${time} has ${slot.jobs} jobs: ${slot.done} were done, ${slot.failed} failed, ${slot.cut} were cut short`,
        );
    }
  // Before that the store was new, and its clock advanced on its own.
  for (const { kind, at } of rows.filter((row) => row.at > beganMs))
    if (!times.get(kind)?.includes(at)) wrong.push(`${kind} of ${new Date(at).toISOString()} was enqueued and not due`);
  const failed = rows.reduce((sum, row) => sum + row.failed, 0);
  const cut = rows.reduce((sum, row) => sum + row.cut, 0);
  if (failed > 0 && kills === 0) wrong.push(`${failed} attempts failed`);
  if (cut > kills * 6) wrong.push(`${cut} attempts were cut short by ${kills} kills`);
  return wrong;
}

/** Checks that every operation that the control plane has served is stored, and that no version is stored twice. */
async function checkArchive({ store, controls }: Scene): Promise<string[]> {
  const wrong: string[] = [];
  for (const { id } of await controls.projects()) {
    const { served } = await controls.operations(id);
    const rows = await store.sql<{ id: string }[]>`
      select o.id::text as id from keywarden.operation o join keywarden.project p on p.number = o.project_number where p.id = ${id}`;
    const stored = new Set(rows.map((row) => row.id));
    // The control plane's own work continues until this moment.
    const missing = served.filter((each) => !stored.has(each)).length;
    if (missing > 10) wrong.push(`${missing} operations of project ${id} are not stored`);
    if (stored.size !== rows.length) wrong.push(`operations of project ${id} are stored twice`);
  }
  const [twice] = await store.sql`
    select count(*)::int as versions from (
      select 1 from keywarden.operation_version group by project_number, id, status, updated_at, failures_count having count(*) > 1) as v`;
  if (Number(twice?.versions) > 0) wrong.push(`${twice?.versions} versions of operations are stored twice`);
  const [listed] = await store.sql`
    select count(*)::int as observations from (
      select 1 from keywarden.key_observation group by key_number, seen_at, event having count(*) > 1) as o`;
  if (Number(listed?.observations) > 0) wrong.push(`${listed?.observations} observations of keys are stored twice`);
  return wrong;
}

/** Checks that an accepted notification is not sent again by any replica, and that no other notification repeats its content for a key. */
function checkNotices(received: { id: string; text: string }[]): string[] {
  const wrong: string[] = [];
  const ids = received.map(({ id }) => id);
  if (new Set(ids).size !== ids.length) wrong.push('a notice was sent twice');
  const told = received.flatMap(({ text }) => {
    const { type, data } = JSON.parse(text) as { type: string; data: { step?: string; keys?: { id: string }[] } };
    return (data.keys ?? []).map(({ id }) => `${type} ${data.step} ${id}`);
  });
  if (new Set(told).size !== told.length) wrong.push('a key was announced twice in one step');
  return wrong;
}
