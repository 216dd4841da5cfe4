import { rmSync } from 'node:fs';
import { defaultPolicy, type Policy } from '@keywarden/core/policy';
import { type Connection, type Context, openConnections } from '@keywarden/daemon';
import type { Sink } from '@keywarden/runtime/config';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import { virtualTime } from '../client/virtual-time.ts';
import { budgetsOf, makeContext } from '../daemon/fixture.ts';
import { type ControlPlane, type ControlPlaneOptions, createControlPlane } from './control-plane.ts';
import {
  type ApiKey,
  type ListStyle,
  nanosOf,
  type Organization,
  type Project,
  type Truth,
  type User,
  usualStyle,
} from './truth.ts';

/** A company on the second control plane, and a daemon's context on a store. */
export interface Company {
  plane: ControlPlane;
  context: Context;
  ada: User;
  acme: Organization;
  ownKey: ApiKey;
  /** Authenticates again, as every command does, with the key of a connection's file or the own key. */
  connect(secret?: string, keyId?: string | null): Promise<Connection>;
  /** Moves the clock of the control plane and of the daemon. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

export interface CompanyOptions extends Omit<ControlPlaneOptions, 'now'> {
  policy?: Policy;
  sinks?: Sink[];
}

/** Creates a company with one administrator and four other people. One of them has left: a key names her, and no list of members does. */
export async function makeCompany(
  store: TestStore,
  { policy = defaultPolicy, sinks = [], ...options }: CompanyOptions = {},
): Promise<Company> {
  const time = virtualTime(Date.now());
  const plane = await createControlPlane({ ...options, now: time.now });
  const { truth } = plane;
  const ada = truth.addUser('Ada');
  const roles = ['member', 'viewer', 'collaborator', 'steward'];
  const others = roles.map((role) => ({ user: truth.addUser(`The${role}`), role }));
  const acme = truth.addOrganization('acme', [{ user: ada, role: 'admin' }, ...others]);
  const ownKey = truth.addKey({ name: 'keywarden', scope: `user:${ada.id}`, creator: ada });
  const context = makeContext(await store.as('keywarden_daemon'), { connections: [], channels: [], sinks, policy });
  return {
    plane,
    context,
    ada,
    acme,
    ownKey,
    async connect(apiKey = ownKey.secret, keyId = ownKey.id) {
      const connection = { name: 'main', url: plane.url, identity: plane.url, apiKey, keyId, keyFile: null, share: 1 };
      context.config.connections = [connection];
      const opening = { ...context, time, fetch: time.fetch, budgets: budgetsOf(context.store.sql, time) };
      const [opened] = await openConnections(context.store.sql, opening, (_name, error) => {
        throw error;
      });
      if (opened === undefined) throw new Error('no connection');
      return opened;
    },
    pass: async (ms) => await time.sleep(ms),
    async close() {
      await plane.close();
      rmSync(context.environment.KEYWARDEN_DATA, { recursive: true, force: true });
    },
  };
}

/** Projects by their ids, each with another style of times, cursors and ends of lists. All of them are within the description. */
const styles: Record<string, Partial<ListStyle>> = {
  recorded: {},
  nanos: { times: { digits: 9, zone: 'Z' }, end: 'no pagination', largestPage: 11 },
  keyset: { cursor: 'keyset', end: 'empty pagination', largestPage: 7 },
  zoned: { times: { digits: 'trimmed', zone: '+05:30' }, largestPage: 9, hasEmptyPages: true },
  'west-of-greenwich': {
    times: { digits: 6, zone: '-11:45' },
    cursor: 'keyset',
    end: 'null pagination',
    largestPage: 13,
  },
  'utc-by-another-name': { times: { digits: 3, zone: '-00:00' }, end: 'empty pagination' },
  x: { end: 'no pagination' },
  ['a-'.repeat(29) + 'id']: { times: { digits: 1, zone: 'Z' }, largestPage: 5 },
};

/**
 * Adds a project of each style. All but one have 60 operations: six in one second of each of ten days, and some differ in digits that no client sees.
 */
export function addProjects({ plane: { truth }, acme }: Company): Project[] {
  return Object.entries(styles).map(([id, style]) => {
    const project = truth.addProject(acme, { id, style: { ...usualStyle, ...style } });
    const count = id === 'x' ? 0 : 60;
    for (let index = 0; index < count; index += 1) {
      const at = truth.now() - BigInt(Math.floor(index / 6)) * 86_399_999_999_000n - 3_600_000_000_000n;
      const within = [0n, 1n, 100n, 999n, 1000n, 999_999_600n][index % 6] ?? 0n;
      truth.addOperation(project, { createdAt: at - (at % 1_000_000_000n) + within });
    }
    return project;
  });
}

/** A key of the organization: how many days ago it was created and last used, null if never, and what else differs. */
export type KeySketch = [createdDays: number, usedDays: number | null, more?: Partial<ApiKey>];

/** Adds keys by their names. The creator of those that begin with `left` is no member any more, and has no name. */
export function addKeys<const Name extends string>(
  { plane: { truth }, acme, ada }: Company,
  keys: Record<Name, KeySketch>,
): Record<Name, ApiKey> {
  const ago = (days: number) => truth.now() - nanosOf(days * 86_400_000) + 123_456_789n;
  const left = { ...truth.addUser('Left'), name: '' };
  const made = Object.entries<KeySketch>(keys).map(([name, [created, used, more]]) => {
    const lastUse = used === null ? null : { at: ago(used), address: '2001:db8::7, 198.51.100.4' };
    const creator = name.startsWith('left') ? left : ada;
    const scope = `organization:${acme.id}`;
    return [name, truth.addKey({ name, scope, creator, createdAt: ago(created), lastUse, ...more })];
  });
  // Each name has its key.
  return Object.fromEntries(made) as Record<Name, ApiKey>;
}

/**
 * Returns what the store has that the control plane never had, and what it lacks although it claims to have it. With `isComplete` also what it lacks without
 * a claim, and what is not up to date.
 */
export async function findFaults(
  { plane: { truth } }: Company,
  store: TestStore,
  { isComplete = true } = {},
): Promise<string[]> {
  const faults: string[] = [];
  for (const project of truth.projects) faults.push(...(await faultsOf(project, store, isComplete)));
  return isComplete ? [...faults, ...(await faultsOfKeys(truth, store))] : faults;
}

async function faultsOfKeys(truth: Truth, store: TestStore): Promise<string[]> {
  const faults: string[] = [];
  const keys = await store.sql<{ id: string; name: string; is_live: boolean }[]>`
    select id, name, gone_at is null and superseded_at is null as is_live from keywarden.key`;
  for (const { id, name, is_live: isLive } of keys) {
    const real = truth.keys.find((each) => each.id === id);
    if (real?.name !== name) faults.push(`key ${id} is not ${name}`);
    if (real && isLive !== (real.revokedAt === null))
      faults.push(`key ${name} is ${isLive ? '' : 'not '}live in the store`);
  }
  for (const { id, name, revokedAt } of truth.keys)
    if (revokedAt === null && !keys.some((each) => each.id === id)) faults.push(`key ${name} is missing`);
  return faults;
}

interface StoredOperation {
  id: string;
  created_at: string;
  action: string;
  status: string;
  failures_count: string;
}

async function faultsOf(
  { id: projectId, operations }: Project,
  store: TestStore,
  isComplete: boolean,
): Promise<string[]> {
  const rows = await store.sql<StoredOperation[]>`
    select o.id, o.action, o.status, o.failures_count, (extract(epoch from o.created_at) * 1000000)::text as created_at
    from keywarden.operation o join keywarden.project p on p.number = o.project_number where p.id = ${projectId}`;
  const faults: string[] = [];
  const stored = new Set(rows.map(({ id }) => id));
  if (stored.size < rows.length) faults.push(`${projectId}: an operation is stored twice`);
  for (const { id, action, status, failures_count: failures, created_at: at } of rows) {
    const real = operations.find((each) => each.id === id);
    if (real === undefined) faults.push(`${projectId}: ${id} never existed`);
    else if (
      isComplete &&
      (real.action !== action || real.status !== status || real.failuresCount !== Number(failures))
    )
      faults.push(
        `${projectId}: ${id} is ${action} ${status} ${failures}, not ${real.action} ${real.status} ${real.failuresCount}`,
      );
    else if (Math.abs(Number(real.createdAt / 1000n) - Number(at)) > 1_000_000)
      faults.push(`${projectId}: ${id} has another time`);
  }
  for (const { id } of isComplete ? operations : []) if (!stored.has(id)) faults.push(`${projectId}: ${id} is missing`);
  const covered = await store.sql<{ from: string; to: string }[]>`
    select (extract(epoch from lower(span)) * 1000000)::bigint as from, (extract(epoch from upper(span)) * 1000000)::bigint as to
    from keywarden.operation_coverage c join keywarden.project p on p.number = c.project_number, unnest(c.known) span where p.id = ${projectId}`;
  for (const { id, createdAt } of operations)
    if (
      !stored.has(id) &&
      covered.some(({ from, to }) => createdAt / 1000n > BigInt(from) && createdAt / 1000n < BigInt(to))
    )
      faults.push(`${projectId}: ${id} is missing, although its time is covered`);
  return faults;
}
