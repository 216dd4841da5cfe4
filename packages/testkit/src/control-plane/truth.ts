import { randomBytes, randomUUID } from 'node:crypto';

// What the second control plane truly has. Its server shows this to clients; tests compare a store with it.

/** Nanoseconds since 1970: finer than any text that a client sees. */
export type Nanos = bigint;

export const nanosOf = (ms: number): Nanos => BigInt(Math.floor(ms)) * 1_000_000n;

/** How times are written: `trimmed` drops zeros at the end of the fraction, and with them an empty fraction. */
export interface TimeStyle {
  digits: number | 'trimmed';
  /** The zone. `-00:00` is a legal spelling of UTC. */
  zone: 'Z' | '-00:00' | `${'+' | '-'}${number}:${number}`;
}

/** How a project's list of operations is paged. */
export interface ListStyle {
  times: TimeStyle;
  /** `time`: the last row's own time, and the next page begins strictly below it. `keyset`: an opaque text that names the last row. */
  cursor: 'time' | 'keyset';
  /** What follows the last row: a page without rows, or no cursor in one of three spellings. */
  end: 'empty page' | 'no pagination' | 'null pagination' | 'empty pagination';
  /** The most rows of a page, for any larger limit. */
  largestPage: number;
  /** Every page with rows is followed by one that has a cursor and no rows. */
  hasEmptyPages: boolean;
}

export interface User {
  id: string;
  name: string;
  email: string;
}

export interface Organization {
  id: string;
  name: string;
  createdAt: Nanos;
  members: { id: string; user: User; role: string }[];
}

export interface Project {
  id: string;
  name: string;
  organizationId: string;
  createdAt: Nanos;
  updatedAt: Nanos;
  deletedAt: Nanos | null;
  /** Its details take too long: lists only name it. */
  isUnavailable: boolean;
  style: ListStyle;
  operations: Operation[];
}

export interface Operation {
  id: string;
  createdAt: Nanos;
  updatedAt: Nanos;
  action: string;
  status: string;
  failuresCount: number;
  /** Fields beside those of every operation, as JSON shows them. */
  others: Record<string, unknown>;
}

export interface ApiKey {
  id: string;
  name: string;
  secret: string;
  scope: string;
  projectId: string | null;
  creator: User;
  createdAt: Nanos;
  lastUse: { at: Nanos; address: string } | null;
  revokedAt: Nanos | null;
}

/** What makes a new key; the rest has defaults. */
export type NewKey = Pick<ApiKey, 'name' | 'scope' | 'creator'> & Partial<ApiKey>;

export interface Truth {
  organizations: Organization[];
  projects: Project[];
  keys: ApiKey[];
  now(): Nanos;
  addUser(name: string): User;
  addOrganization(name: string, members: { user: User; role: string }[]): Organization;
  addProject(organization: Organization, project: Partial<Project> & Pick<Project, 'id'>): Project;
  addOperation(project: Project, operation: Partial<Operation>): Operation;
  addKey(key: NewKey): ApiKey;
  use(key: ApiKey, address: string): void;
}

export const usualStyle: ListStyle = {
  times: { digits: 0, zone: 'Z' },
  cursor: 'time',
  end: 'empty page',
  largestPage: 1000,
  hasEmptyPages: false,
};

const second = 1_000_000_000n;

/** Returns a time as the given style writes it. Digits that are not shown are cut. */
export function writeTime(at: Nanos, { digits, zone }: TimeStyle): string {
  const [, sign = '+', hours = '0', minutes = '0'] = /([+-])(\d+):(\d+)/.exec(zone) ?? [];
  const shift = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60;
  const local = at + BigInt(shift) * second;
  const whole = new Date(Number(local / second) * 1000).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
  const all = String(local % second).padStart(9, '0');
  const shown = digits === 'trimmed' ? all.replace(/0+$/, '') : all.slice(0, digits);
  return `${whole}${shown === '' ? '' : `.${shown}`}${zone}`;
}

/** Returns a control plane without accounts. Its ids of keys are beyond the integers that a JavaScript number holds. */
export function createTruth(nowMs: () => number): Truth {
  let lastId = 2n ** 53n;
  const truth: Truth = {
    organizations: [],
    projects: [],
    keys: [],
    now: () => nanosOf(nowMs()),
    addUser: (name) => ({ id: randomUUID(), name, email: `${name.toLowerCase()}@people.example` }),
    addOrganization(name, members) {
      const organization: Organization = {
        id: `org-${name}-${randomBytes(4).toString('hex')}`,
        name,
        createdAt: truth.now() - 400n * 86_400n * second,
        members: members.map((member) => ({ id: randomUUID(), ...member })),
      };
      truth.organizations.push(organization);
      return organization;
    },
    addProject({ id: organizationId }, given) {
      const createdAt = given.createdAt ?? truth.now() - 90n * 86_400n * second;
      const project: Project = {
        name: given.id,
        organizationId,
        updatedAt: createdAt,
        deletedAt: null,
        isUnavailable: false,
        style: usualStyle,
        operations: [],
        ...given,
        createdAt,
      };
      truth.projects.unshift(project);
      return project;
    },
    addOperation(project, given) {
      const createdAt = given.createdAt ?? truth.now();
      const operation: Operation = {
        id: randomUUID(),
        updatedAt: createdAt,
        action: 'start_compute',
        status: 'finished',
        failuresCount: 0,
        others: {},
        ...given,
        createdAt,
      };
      project.operations.push(operation);
      return operation;
    },
    addKey(given) {
      lastId += 2_000_000_000_000_001n;
      const key: ApiKey = {
        id: String(lastId),
        secret: `napi_${randomBytes(32).toString('hex')}`,
        projectId: null,
        createdAt: truth.now(),
        lastUse: null,
        revokedAt: null,
        ...given,
      };
      truth.keys.push(key);
      return key;
    },
    use(key, address) {
      key.lastUse = { at: truth.now(), address };
    },
  };
  return truth;
}
