import type { Database } from '../store/database.ts';
import type { Random } from '../store/random.ts';
import { HOUR, MINUTE, type Micros, SECOND } from '../store/time.ts';
import type { Company } from './company.ts';
import type { MadeProject } from './organizations.ts';

interface Target {
  project: MadeProject;
  branches: { id: string; endpointId: string }[];
}

/** What one request makes: several actions of one request bear the same created_at. */
const requests: readonly { actions: readonly string[]; weight: number }[] = [
  { actions: ['start_compute'], weight: 34 },
  { actions: ['suspend_compute'], weight: 34 },
  { actions: ['check_availability'], weight: 16 },
  { actions: ['apply_config'], weight: 6 },
  { actions: ['create_branch', 'start_compute'], weight: 4 },
  { actions: ['apply_config', 'apply_config', 'apply_config', 'suspend_compute'], weight: 2 },
  { actions: ['apply_storage_config'], weight: 1 },
  { actions: ['timeline_archive'], weight: 1 },
  { actions: ['timeline_unarchive', 'start_compute'], weight: 1 },
  { actions: ['tenant_detach'], weight: 0.5 },
  { actions: ['tenant_reattach', 'tenant_attach'], weight: 0.5 },
];
const totalWeight = requests.reduce((sum, { weight }) => sum + weight, 0);
const withoutEndpoint = new Set([
  'create_branch',
  'create_timeline',
  'apply_storage_config',
  'tenant_attach',
  'tenant_detach',
  'tenant_reattach',
  'timeline_archive',
  'timeline_unarchive',
]);

/** Makes a history per project, busy projects with more of it, from the project's creation until now, oldest first. */
export function generateOperations(
  db: Database,
  { company, random, now, projects }: { company: Company; random: Random; now: Micros; projects: MadeProject[] },
): void {
  const weights = projects.map(() => 0.3 + random.next() ** 2 * 3);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let left = company.operations;
  for (const [index, project] of projects.entries()) {
    const isLast = index === projects.length - 1;
    const share = Math.min(left, Math.round((company.operations * (weights[index] ?? 0)) / total));
    const count = isLast ? left : share;
    left -= count;
    const branches = Array.from({ length: random.between(1, 5) }, () => ({
      id: `br-${random.hex(12)}`,
      endpointId: `ep-${random.hex(12)}`,
    }));
    generateProject(db, { random, now, target: { project, branches }, count });
  }
}

function generateProject(
  db: Database,
  { random, now, target, count }: { random: Random; now: Micros; target: Target; count: number },
): void {
  const { createdAt: from } = target.project;
  let made = 0;
  while (made < count) {
    const actions = made === 0 ? ['create_timeline', 'start_compute'] : pickActions(random);
    // Even steps with jitter below one step: times never go back, and the last request is minutes old.
    const step = (now - from) / count;
    const at = made === 0 ? from : Math.floor(from + step * made + random.next() * step * 0.9);
    for (const action of actions.slice(0, count - made)) {
      insertOperation(db, { random, now, target, action, at, isNewest: made >= count - 2 });
      made += 1;
    }
  }
}

function pickActions(random: Random): readonly string[] {
  let mark = random.next() * totalWeight;
  for (const { actions, weight } of requests) {
    mark -= weight;
    if (mark < 0) return actions;
  }
  return ['start_compute'];
}

function insertOperation(
  db: Database,
  {
    random,
    now,
    target,
    action,
    at,
    isNewest,
  }: { random: Random; now: Micros; target: Target; action: string; at: Micros; isNewest: boolean },
): void {
  const branch = random.pick(target.branches);
  const end = makeEnd(random);
  const takes = random.between(200_000, 3 * SECOND);
  // A project's newest requests, and half of those of the last hours, are still going on, and end as the clock goes.
  const isOpen = isNewest || (at > now - 6 * HOUR && random.chance(0.5));
  db.run(
    `insert into operation (id, project_id, branch_id, endpoint_id, action, status, failures_count, error, created_at,
       updated_at, next_at, next_status) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    random.uuid(),
    target.project.id,
    branch.id,
    withoutEndpoint.has(action) ? null : branch.endpointId,
    action,
    isOpen ? random.pick(['scheduling', 'running']) : end.status,
    end.failures,
    isOpen ? null : end.error,
    at,
    isOpen ? at : Math.min(now, at + takes),
    isOpen ? now + random.between(1, 30) * MINUTE : null,
    isOpen ? 'finished' : null,
  );
}

function makeEnd(random: Random): { status: string; failures: number; error: string | null } {
  const mark = random.next();
  if (mark < 0.97) return { status: 'finished', failures: random.chance(0.01) ? 1 : 0, error: null };
  if (mark < 0.98)
    return { status: 'failed', failures: random.between(1, 5), error: 'compute did not become ready in time' };
  if (mark < 0.985) return { status: 'error', failures: 5, error: 'the storage refused the request' };
  return { status: mark < 0.993 ? 'cancelled' : 'skipped', failures: 0, error: null };
}
