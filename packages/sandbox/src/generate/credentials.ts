import { insertCredential } from '../resources/credentials.ts';
import type { Database } from '../store/database.ts';
import { createRandom, type Random, seedOf } from '../store/random.ts';
import { DAY, type Micros } from '../store/time.ts';
import type { MadeProject } from './organizations.ts';

const scopes = [['storage:read'], ['storage:read', 'storage:write'], ['ai_gateway:invoke'], ['functions:invoke']];
const uses = ['backup', 'image-upload', 'assistant', 'nightly-report'];
const providers = [
  { name: 'Clerk', url: 'https://clerk.company.example/.well-known/jwks.json' },
  { name: 'Auth0', url: 'https://login.company.example/.well-known/jwks.json' },
];
const partners = ['agency.example', 'contractor.example', 'auditor.example'];

/**
 * Adds other access to a company's projects: branch credentials in every state that a review looks for, and projects shared with outside addresses.
 * It also adds members with a role of their own in a project, and key sets. A project's share follows from its id alone.
 */
export function generateCredentials(db: Database, { projects, now }: { projects: MadeProject[]; now: Micros }): void {
  for (const project of projects) {
    const random = createRandom(seedOf(`credentials ${project.id}`));
    const between = (from: Micros) => from + Math.floor(random.next() * Math.max(0, now - from));
    for (const branch of project.branches) issueForBranch(db, { project, branchId: branch.id, random, now });
    if (random.chance(0.3)) {
      const email = `${random.pick(uses)}.${random.hex(3)}@${random.pick(partners)}`;
      const granted = between(project.createdAt);
      db.insert('permission', { id: random.uuid(), project_id: project.id, email, granted_at: granted });
    }
    if (random.chance(0.2)) {
      const { name, url } = random.pick(providers);
      const at = between(project.createdAt);
      db.insert('jwks', {
        id: random.uuid(),
        project_id: project.id,
        jwks_url: url,
        provider_name: name,
        role_names: ['authenticated', 'anonymous'],
        created_at: at,
        updated_at: at,
      });
    }
    setRole(db, { project: project.id, random });
  }
}

function issueForBranch(
  db: Database,
  { project, branchId, random, now }: { project: MadeProject; branchId: string; random: Random; now: Micros },
): void {
  const from = Number(db.get('select created_at from branch where id = ?', branchId)?.created_at);
  const count = random.pick([0, 0, 1, 2]);
  for (let index = 0; index < count; index += 1) {
    const createdAt = from + Math.floor(random.next() * Math.max(0, now - from));
    const age = now - createdAt;
    const lastUsedAt = random.chance(0.7) ? createdAt + Math.floor(random.next() * age) : null;
    const lastSeen = lastUsedAt ?? createdAt;
    const revokedAt = random.chance(0.15) ? lastSeen + Math.floor(random.next() * (now - lastSeen)) : null;
    const expiresAt = random.chance(0.4) ? now + random.between(-20, 200) * DAY : null;
    const place = { project_id: project.id, branch_id: branchId, name: random.pick(uses), scopes: random.pick(scopes) };
    const times = { created_at: createdAt, last_used_at: lastUsedAt, revoked_at: revokedAt, expires_at: expiresAt };
    insertCredential(db, { ...place, ...times }, random.hex(16) + random.hex(16));
  }
}

/** Gives one member of some projects a role there that differs from the organization's. */
function setRole(db: Database, { project, random }: { project: string; random: Random }): void {
  if (!random.chance(0.2)) return;
  const members = db.all(
    `select m.id from member m join project p on p.organization_id = m.organization_id
     where p.id = ? and m.left_at is null and m.role = 'member' order by m.id`,
    project,
  );
  if (members.length === 0) return;
  const { id } = random.pick(members);
  db.insert('project_role', { project_id: project, member_id: String(id), role: random.pick(['viewer', 'admin']) });
}
