import { createRandom, createSandbox, noLimits, type Random, type Sandbox } from '@keywarden/sandbox';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { directTo } from '../archive/direct.ts';
import { drawSettings } from '../archive/scenario.ts';

/** The true state of a company at a control plane: its members, its live keys and their users. Times are in ms. */
export interface Company {
  random: Random;
  sandbox: Sandbox;
  organizations: string[];
  /** Keys that the company made, by id. */
  keys: Map<string, CompanyKey>;
  now: () => number;
  sleep: (ms: number) => Promise<void>;
  advance(ms: number): Promise<void>;
  /** Called when a sleep begins; scenarios put their events here. */
  onSleep: () => Promise<void>;
  /** The fetch to the sandbox itself. */
  direct: typeof fetch;
  /** The fetch to the control plane, in whose lists absent members are missing. */
  fetch: typeof fetch;
  /** Mints a key as the requested member, if that member exists and has not left, otherwise as the administrator. */
  mint(key: { name: string; organization?: string; project?: string; by?: string }): Promise<CompanyKey>;
  /** Sends a request with the key's secret. Returns the status. */
  use(key: CompanyKey): Promise<number>;
  /** Makes a member who makes keys leave or return. */
  leaveOrReturn(): void;
  /** Returns whether the user has been a member for this long, in ms. */
  isMember(userId: string, forMs: number): boolean;
  truth: () => Promise<TrueKey[]>;
  close(): Promise<void>;
}

export interface CompanyKey {
  id: string;
  name: string;
  secret: string;
  /** The key's uses, in ms, oldest first. */
  uses: number[];
}

/** A key as the control plane stores it. */
export interface TrueKey {
  id: string;
  kind: string;
  name: string;
  organizationId: string | null;
  creatorId: string;
  createdMs: number;
  lastUsedMs: number | null;
  isLive: boolean;
}

/** The start time. Time advances only on request, so that a seed always gives the same run. */
const startMs = Date.parse('2026-06-15T09:30:00.250Z');

export async function createCompany(seed: number): Promise<Company> {
  const random = createRandom(seed);
  const secrets: string[] = [];
  const sandbox = await createSandbox({
    limits: noLimits,
    realNowMs: () => startMs,
    onSecret: (secret) => void secrets.push(secret),
  });
  const fetch = directTo(sandbox);
  const controls = createControls(sandbox.controlUrl, fetch);
  let offsetMs = 0;
  const now = () => startMs + offsetMs;
  const send = async <T>(url: string, { method = 'GET', body, secret = sandbox.adminKey }: Sent = {}): Promise<T> => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const response = await fetch(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}`);
    return (await response.json()) as T; // the sandbox's own shapes
  };
  const advance = async (ms: number) => {
    offsetMs = Date.parse(await controls.advance(ms / 1000)) - startMs;
  };
  await controls.setSettings({ ...drawSettings(seed), project_keys: 'members' });
  await controls.generate({ organizations: random.between(1, 2), projects: 2, keys: 10, operations: 0, seed });
  await advance(0);
  const { organizations } = await send<{ organizations: { id: string }[] }>(`${sandbox.url}/users/me/organizations`);
  const makers = await findMakers(
    organizations.map(({ id }) => id),
    secrets,
    { url: sandbox.url, send },
  );
  const away = new Set<string>();
  const returnedAt = new Map<string, number>();
  const keys = new Map<string, CompanyKey>();

  const company: Company = {
    random,
    sandbox,
    organizations: organizations.map(({ id }) => id),
    keys,
    direct: fetch,
    now,
    advance,
    onSleep: async () => {},
    async sleep(ms) {
      await company.onSleep();
      await advance(ms);
    },
    async fetch(input, init) {
      const response = await fetch(input, init);
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      if (!/organizations\/[^/]+\/members$/.test(pathname) || !response.ok || away.size === 0) return response;
      const body = (await response.json()) as { members: { member: { user_id: string } }[] };
      const members = body.members.filter(({ member }) => !away.has(member.user_id));
      return Response.json({ ...body, members }, { headers: { date: response.headers.get('date') ?? '' } });
    },
    async mint({ name, organization, by }) {
      const there = makers.filter(({ organizationId, userId }) => organizationId === organization && !away.has(userId));
      const maker = by === undefined ? undefined : there[0];
      const path = organization === undefined ? '/api_keys' : `/organizations/${organization}/api_keys`;
      const body = { key_name: name, ...(maker === undefined ? {} : { project_id: maker.projectId }) };
      const secret = maker?.secret ?? sandbox.adminKey;
      const made = await send<{ id: number; key: string }>(`${sandbox.url}${path}`, { method: 'POST', body, secret });
      const key = { id: String(made.id), name, secret: made.key, uses: [] };
      keys.set(key.id, key);
      return key;
    },
    async use(key) {
      const response = await fetch(`${sandbox.url}/auth`, { headers: { authorization: `Bearer ${key.secret}` } });
      await response.body?.cancel();
      if (response.ok) key.uses.push(now());
      return response.status;
    },
    leaveOrReturn() {
      if (makers.length === 0) return;
      const { userId } = random.pick(makers);
      if (away.delete(userId)) returnedAt.set(userId, now());
      else away.add(userId);
    },
    isMember: (userId, forMs) => !away.has(userId) && (returnedAt.get(userId) ?? 0) <= now() - forMs,
    async truth() {
      const rows = await controls.keys();
      return rows.map((row) => ({
        id: String(row.id),
        kind: row.kind,
        name: row.name,
        organizationId: row.organization_id,
        creatorId: row.user_id,
        createdMs: Date.parse(row.created_at),
        lastUsedMs: row.last_used_at === null ? null : Date.parse(row.last_used_at),
        isLive: row.revoked_at === null,
      }));
    },
    close: () => sandbox.close(),
  };
  return company;
}

interface Sent {
  method?: string;
  body?: unknown;
  secret?: string;
}

interface Maker {
  userId: string;
  secret: string;
  organizationId: string;
  projectId: string;
}

/** Returns members who are not administrators and whose personal keys are available: one for each organization. */
async function findMakers(
  organizationIds: string[],
  secrets: string[],
  { url, send }: { url: string; send: <T>(url: string, sent?: Sent) => Promise<T> },
): Promise<Maker[]> {
  const makers: Maker[] = [];
  for (const organizationId of organizationIds) {
    const { members } = await send<{ members: { member: { user_id: string; role: string } }[] }>(
      `${url}/organizations/${organizationId}/members?limit=500`,
    );
    const { projects } = await send<{ projects: { id: string }[] }>(`${url}/projects?org_id=${organizationId}`);
    const plain = new Set(members.filter(({ member }) => member.role === 'member').map(({ member }) => member.user_id));
    for (const secret of secrets) {
      const whose = await send<{ account_id: string; auth_method: string }>(`${url}/auth`, { secret }).catch(
        () => null,
      );
      const projectId = projects[0]?.id;
      if (whose?.auth_method !== 'api_key_user' || !plain.has(whose.account_id) || projectId === undefined) continue;
      makers.push({ userId: whose.account_id, secret, organizationId, projectId });
      break;
    }
  }
  return makers;
}
