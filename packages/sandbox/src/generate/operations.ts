import type { Status } from '../engine/transitions.ts';
import type { Database } from '../store/database.ts';
import type { Random } from '../store/random.ts';
import { operationIndexes } from '../store/schema.ts';
import { MINUTE, type Micros, SECOND } from '../store/time.ts';
import type { Generation, MadeProject } from './organizations.ts';

/** The actions that one request makes: all of them have the same created_at. */
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

/**
 * Makes a history for each project, from its creation until now, oldest first; busy projects get more. In one project of four, the second and so on,
 * the newest operations are still in progress; the others can be worked on at once.
 */
export function generateOperations(
  db: Database,
  { company, random, now, projects }: Generation & { projects: MadeProject[] },
): void {
  const weights = projects.map(() => 0.3 + random.next() ** 2 * 3);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  // Building an index after the rows takes a fraction of the time of building it row by row.
  const isLarge = company.operations >= 100_000;
  if (isLarge) for (const index of Object.keys(operationIndexes)) db.run(`drop index ${index}`);
  let left = company.operations;
  for (const [index, project] of projects.entries()) {
    const isLast = index === projects.length - 1;
    const share = Math.min(left, Math.round((company.operations * (weights[index] ?? 0)) / total));
    const count = isLast ? left : share;
    left -= count;
    generateProject(db, { random, now, project, count, open: index % 4 === 1 ? Math.min(3, count) : 0 });
  }
  if (isLarge) for (const create of Object.values(operationIndexes)) db.run(create);
}

interface Course {
  random: Random;
  now: Micros;
  project: MadeProject;
  count: number;
  /** The number of newest operations that are not done yet. */
  open: number;
}

function generateProject(db: Database, course: Course): void {
  const { random, now, project, count, open } = course;
  const { createdAt: from } = project;
  let made = 0;
  while (made < count) {
    const actions = made === 0 ? ['create_timeline', 'start_compute'] : pickActions(random);
    // Even steps with jitter below one step: times never decrease, and the last request is minutes old.
    const step = (now - from) / count;
    const at = made === 0 ? from : Math.floor(from + step * made + random.next() * step * 0.9);
    for (const action of actions.slice(0, count - made)) {
      const branch = random.pick(project.branches);
      const isOpen = made >= count - open;
      // The oldest operation in progress runs for some minutes more; the others wait for it.
      const isRunning = isOpen && made === count - open;
      const { status, failures, error } = isOpen
        ? { status: isRunning ? 'running' : 'scheduling', failures: 0, error: null }
        : makeEnd(random);
      const updatedAt = isOpen ? at : Math.min(now, at + random.between(200_000, 3 * SECOND));
      const nextAt = isRunning ? now + random.between(1, 20) * MINUTE : null;
      const endpointId = withoutEndpoint.has(action) ? null : branch.endpointId;
      const place = [random.uuid(), project.id, branch.id, endpointId];
      db.run(insertOperation, ...place, action, status, failures, error, at, updatedAt, Number(isOpen), nextAt);
      made += 1;
    }
  }
}

const insertOperation = `insert into operation (id, project_id, branch_id, endpoint_id, action, status, failures_count, error,
  created_at, updated_at, is_open, next_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

function pickActions(random: Random): readonly string[] {
  let mark = random.next() * totalWeight;
  for (const { actions, weight } of requests) {
    mark -= weight;
    if (mark < 0) return actions;
  }
  return ['start_compute'];
}

function makeEnd(random: Random): { status: Status; failures: number; error: string | null } {
  const mark = random.next();
  if (mark < 0.97) return { status: 'finished', failures: random.chance(0.01) ? 1 : 0, error: null };
  if (mark < 0.98)
    return { status: 'failed', failures: random.between(1, 5), error: 'compute did not become ready in time' };
  if (mark < 0.985) return { status: 'error', failures: 5, error: 'the storage refused the request' };
  return { status: mark < 0.993 ? 'cancelled' : 'skipped', failures: 0, error: null };
}
