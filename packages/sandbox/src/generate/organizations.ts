import { z } from 'zod';
import { insertProject, regions } from '../resources/projects.ts';
import type { Database } from '../store/database.ts';
import { makeId, type Random } from '../store/random.ts';
import { DAY, type Micros } from '../store/time.ts';
import { equipProject, type MadeBranch } from './projects.ts';

export const companySchema = z.strictObject({
  organizations: z.int().min(1).max(1000).default(4),
  projects: z.int().min(0).max(20_000).default(48),
  keys: z.int().min(0).max(1_000_000).default(180),
  operations: z.int().min(0).max(20_000_000).default(180_000),
  months: z.int().min(1).max(120).default(9),
  seed: z.int().nonnegative().default(1),
});

/** What to generate: totals over the whole company; `months` is the length of its history. */
export type Company = z.infer<typeof companySchema>;

export interface MadeProject {
  id: string;
  createdAt: Micros;
  branches: MadeBranch[];
}

export interface MadeOrganization {
  id: string;
  createdAt: Micros;
  /** The ids of its members, the administrator first. */
  users: string[];
  projects: MadeProject[];
}

const firstNames =
  'Ada Bela Chen Dara Emil Fatima Goran Hana Imre Jun Kaya Lena Milo Nadia Otto Priya Rosa Sven Tala Yusuf'.split(' ');
const lastNames =
  'Abebe Bauer Castro Dahl Eriksen Fischer Greco Haddad Ito Jansen Kovac Lopez Moreau Novak Okafor Patel Rossi Sato Toth Weber'.split(
    ' ',
  );
const companies = 'Northwind Bluefin Larkspur Ironwood Saltmarsh Foxglove Quarry Tidewater Highmoor Cobalt'.split(' ');
const divisions = 'Payments Logistics Research Retail Platform Insights'.split(' ');
const services =
  'billing orders catalog search ledger identity notifications reporting inventory checkout sessions pricing'.split(
    ' ',
  );
const stages = ['production', 'staging', 'preview', 'analytics'];

/** What all parts of a company are made from. */
export interface Generation {
  company: Company;
  random: Random;
  now: Micros;
}

/** Makes organizations, their members and projects. The sandbox's own administrator administers each organization. */
export function generateOrganizations(db: Database, { company, random, now }: Generation): MadeOrganization[] {
  const administrator = String(db.get('select user_id from api_key where id = 1')?.user_id);
  const span = company.months * 30 * DAY;
  return Array.from({ length: company.organizations }, (_, index) => {
    const createdAt = now - span - random.between(30, 400) * DAY;
    const name = `${random.pick(companies)} ${random.pick(divisions)}`;
    const id = `org-${name.toLowerCase().replace(' ', '-')}-${random.hex(8)}`;
    db.insert('organization', { id, name, plan: 'scale', created_at: createdAt });
    const joined = { organization_id: id, user_id: administrator, role: 'admin', joined_at: createdAt };
    db.insert('member', { id: random.uuid(), ...joined });
    const users = makeUsers(db, { random, organizationId: id, createdAt, now });
    // Projects are distributed in turn, so that the total is exact and every organization has some.
    const count = Math.floor((company.projects + company.organizations - 1 - index) / company.organizations);
    const projects = Array.from({ length: count }, () =>
      makeProject(db, { random, organizationId: id, users, from: now - span, now }),
    );
    return { id, createdAt, users: [administrator, ...users], projects };
  });
}

type Making = Omit<Generation, 'company'> & { organizationId: string };

function makeUsers(db: Database, { random, organizationId, createdAt, now }: Making & { createdAt: Micros }): string[] {
  return Array.from({ length: random.between(6, 14) }, (_, index) => {
    const id = random.uuid();
    const name = `${random.pick(firstNames)} ${random.pick(lastNames)}`;
    const email = `${name.toLowerCase().replace(' ', '.')}.${random.hex(4)}@company.example`;
    const joinedAt = createdAt + Math.floor(random.next() * 0.5 * (now - createdAt));
    // One in five has left; the first two guarantee one of each kind.
    const hasLeft = index === 1 || (index > 1 && random.chance(0.2));
    const leftAt = hasLeft ? joinedAt + Math.floor(random.next() * (now - joinedAt)) : null;
    db.insert('user', { id, name, email, created_at: joinedAt });
    const role = index === 0 ? 'admin' : 'member';
    const member = { organization_id: organizationId, user_id: id, role, joined_at: joinedAt, left_at: leftAt };
    db.insert('member', { id: random.uuid(), ...member });
    return id;
  });
}

function makeProject(
  db: Database,
  { random, organizationId, users, from, now }: Making & { users: string[]; from: Micros },
): MadeProject {
  const id = makeId(random);
  const name = `${random.pick(services)}-${random.pick(stages)}`;
  // Most projects are as old as the history; the others came later.
  const createdAt = random.chance(0.6) ? from : from + Math.floor(random.next() * 0.8 * (now - from));
  const project = {
    id,
    organization_id: organizationId,
    owner_id: random.pick(users),
    name,
    region_id: random.pick(regions).region_id,
    pg_version: random.between(15, 18),
    cpu_used_sec: random.below(1_000_000),
    created_at: createdAt,
    updated_at: now - random.below(DAY),
  };
  insertProject(db, project, now);
  const branches = equipProject(db, { project: id, createdBy: project.owner_id, createdAt, now });
  return { id, createdAt, branches };
}
