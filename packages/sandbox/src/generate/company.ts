import { retentionStart } from '../resources/operations.ts';
import type { State } from '../state.ts';
import { createRandom, seedOf } from '../store/random.ts';
import { generateCredentials } from './credentials.ts';
import { generateKeys } from './keys.ts';
import { generateOperations } from './operations.ts';
import { type Company, generateOrganizations } from './organizations.ts';

export type CompanyCounts = ReturnType<typeof counts>;

/**
 * Adds a company: organizations with current and former members, projects, and keys in every state that a review looks for. Its operations include
 * equal times; the youngest are still running. One seed gives one company (except for the keys' secrets).
 */
export function generateCompany(state: State, company: Company): CompanyCounts {
  const { db, clock } = state;
  const now = clock.now();
  const before = counts(state);
  // A repeated seed makes a further company: its names and ids must not repeat.
  const isFirst = before.organizations === 0;
  const random = createRandom(isFirst ? company.seed : seedOf(`${company.seed}/${before.organizations}`));
  const generation = { company, random, now };
  db.transaction(() => {
    const organizations = generateOrganizations(db, generation);
    generateKeys(state, { ...generation, organizations });
    const projects = organizations.flatMap((organization) => organization.projects);
    generateCredentials(db, { projects, now });
    generateOperations(db, { ...generation, projects });
  });
  const after = counts(state);
  for (const name of Object.keys(before) as (keyof CompanyCounts)[]) after[name] -= before[name];
  return after;
}

function counts({ db, clock }: State) {
  const count = (sql: string, ...values: number[]) => Number(db.get(`select count(*) as n from ${sql}`, ...values)?.n);
  return {
    organizations: count('organization'),
    members: count('member'),
    projects: count('project'),
    keys: count('api_key'),
    operations: count('operation'),
    served_operations: count('operation where created_at >= ?', retentionStart(clock.now())),
  };
}
