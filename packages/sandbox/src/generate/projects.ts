import { firstWorkAt } from '../engine/system.ts';
import { copyCatalog, insertBranch } from '../resources/branches.ts';
import { insertDatabase, insertRole } from '../resources/catalog.ts';
import { insertEndpoint } from '../resources/endpoints.ts';
import type { Database, Row } from '../store/database.ts';
import { createRandom, makeId, makePassword, seedOf } from '../store/random.ts';
import type { Micros } from '../store/time.ts';

export interface MadeBranch {
  id: string;
  endpointId: string;
}

const names = ['staging', 'preview/checkout', 'preview/search', 'load-test'];

/**
 * Gives a project a root branch and up to four branches that start from it. Each has a suspended compute, and all have the same role and database.
 * The result follows from the project's id alone. `known` are branches that its operations already name.
 */
export function equipProject(
  db: Database,
  {
    project,
    createdBy,
    createdAt,
    now,
    known = [],
  }: { project: string; createdBy: string; createdAt: Micros; now: Micros; known?: MadeBranch[] },
): MadeBranch[] {
  const random = createRandom(seedOf(project));
  const count = Math.max(random.between(1, 5), known.length);
  const branches = Array.from({ length: count }, (_, index) => {
    return known[index] ?? { id: makeId(random, 'br'), endpointId: makeId(random, 'ep') };
  });
  for (const [index, { id, endpointId }] of branches.entries()) {
    const root = branches[0]?.id ?? id;
    const isRoot = id === root;
    const at = isRoot ? createdAt : createdAt + Math.floor(random.next() * (now - createdAt));
    const name = isRoot ? 'main' : (names[index - 1] ?? id);
    const made = { project_id: project, created_at: at };
    const parent = isRoot ? null : root;
    insertBranch(db, {
      ...made,
      id,
      parent_id: parent,
      name,
      created_by: createdBy,
      state: 'ready',
      is_default: isRoot,
    });
    insertEndpoint(db, { ...made, id: endpointId, branch_id: id, type: 'read_write', state: 'idle' });
    if (isRoot) {
      insertRole(db, { branch_id: id, name: 'neondb_owner', password: makePassword(random) }, at);
      insertDatabase(db, { branch_id: id, name: 'neondb', owner_name: 'neondb_owner' }, at);
    } else {
      copyCatalog(db, { from: root, to: id, at });
    }
  }
  return branches;
}

/** Adds branches to projects of a file from before branches were stored. */
export function equipOldProjects(db: Database, now: Micros): void {
  const bare = db.all(
    'select * from project p where deleted_at is null and not exists (select 1 from branch b where b.project_id = p.id)',
  );
  for (const row of bare) {
    const project = String(row.id);
    const [createdBy, createdAt] = [String(row.owner_id), Number(row.created_at)];
    equipProject(db, { project, createdBy, createdAt, now, known: branchesNamed(db, row) });
    db.update('project', { id: project, next_work_at: firstWorkAt(project, now) });
  }
}

function branchesNamed(db: Database, project: Row): MadeBranch[] {
  const rows = db.all(
    'select branch_id, min(endpoint_id) as endpoint_id from operation where project_id = ? and branch_id is not null and endpoint_id is not null group by branch_id order by min(seq)',
    String(project.id),
  );
  return rows.map((row) => ({ id: String(row.branch_id), endpointId: String(row.endpoint_id) }));
}
