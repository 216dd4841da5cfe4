import { insertKey, type NewKey } from '../resources/keys.ts';
import type { State } from '../state.ts';
import type { Random } from '../store/random.ts';
import { DAY, HOUR, MINUTE, type Micros } from '../store/time.ts';
import type { Generation, MadeOrganization } from './organizations.ts';

const goodNames =
  'ci-deploy terraform-production backup-runner migrations metrics-exporter preview-branches data-loader on-call-scripts'.split(
    ' ',
  );
const badNames = ['test', 'key1', 'asdf', 'tmp', 'New key', "don't delete", 'my key (2)'];

type Use = Pick<NewKey, 'created_at' | 'last_used_at' | 'last_used_from_addr' | 'busy_every'>;

/**
 * Makes keys of all kinds. Of each ten, two are personal (half of them the administrator's own, which it alone can see), two project-scoped, and six
 * organization keys. Their use is busy, idle or none; some names are bad, and some repeat.
 */
export function generateKeys(
  { db, newToken }: Pick<State, 'db' | 'newToken'>,
  { company, random, now, organizations }: Generation & { organizations: MadeOrganization[] },
): void {
  for (let index = 0; index < company.keys; index += 1) {
    const organization = organizations[index % organizations.length];
    if (organization === undefined) return;
    const name = random.chance(0.15) ? random.pick(badNames) : random.pick(goodNames);
    const place = makePlace(organization, { random, turn: index % 10 });
    insertKey(db, { ...place, name, ...makeUse(organization, { random, now }) }, newToken());
  }
}

function makePlace(
  { id, users, projects }: MadeOrganization,
  { random, turn }: { random: Random; turn: number },
): Pick<NewKey, 'kind' | 'user_id' | 'organization_id' | 'project_id'> {
  const creator = random.pick(users);
  const administrator = users[0] ?? creator;
  if (turn === 0) return { kind: 'personal', user_id: administrator };
  if (turn === 1) return { kind: 'personal', user_id: creator };
  if (turn < 4 && projects.length > 0)
    return { kind: 'project', user_id: creator, organization_id: id, project_id: random.pick(projects).id };
  return { kind: 'organization', user_id: creator, organization_id: id };
}

function makeUse({ createdAt: from }: MadeOrganization, { random, now }: { random: Random; now: Micros }): Use {
  const createdAt = from + Math.floor(random.next() * (now - from - 2 * DAY));
  const address = `203.0.113.${random.between(1, 254)}`;
  const lastUsedFrom = random.chance(0.3) ? `${address},198.51.100.${random.between(1, 254)}` : address;
  const kind = random.next();
  if (kind >= 0.8) return { created_at: createdAt };
  const used = { created_at: createdAt, last_used_from_addr: lastUsedFrom };
  if (kind >= 0.5) return { ...used, last_used_at: createdAt + Math.floor(random.next() * (now - createdAt)) };
  const busyEvery = random.pick([5 * MINUTE, HOUR, 6 * HOUR]);
  return { ...used, last_used_at: Math.max(createdAt, now - (now % busyEvery)), busy_every: busyEvery };
}
