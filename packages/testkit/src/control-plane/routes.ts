import { type Asked, isPersonal, organizationOf, ownScope, type Question, Refusal } from './access.ts';
import { listOperations, listProjects, mainBranch, oneOperation, projectOf } from './project-routes.ts';
import { type ApiKey, type TimeStyle, type Truth, writeTime } from './truth.ts';

// What each route answers, from the service's description and from what was recorded of it. It shares no code with the sandbox.

const routes: [method: string, path: RegExp, answer: (asked: Asked) => unknown][] = [
  ['GET', /^\/auth$/, whoAmI],
  ['GET', /^\/users\/me$/, currentUser],
  ['GET', /^\/users\/me\/organizations$/, (asked) => ({ organizations: organizationsOf(asked).map(showOrganization) })],
  ['GET', /^\/organizations\/([^/]+)$/, (asked) => showOrganization(organizationOf(asked))],
  ['GET', /^\/organizations\/([^/]+)\/members$/, members],
  ['GET', /^\/api_keys$/, (asked) => listKeys(asked, ownScope(asked))],
  ['POST', /^\/api_keys$/, (asked) => createKey(asked, ownScope(asked))],
  ['DELETE', /^\/api_keys\/()(\d+)$/, (asked) => revoke(asked, ownScope(asked))],
  ['GET', /^\/organizations\/([^/]+)\/api_keys$/, (asked) => listKeys(asked, administered(asked))],
  ['POST', /^\/organizations\/([^/]+)\/api_keys$/, createOrganizationKey],
  ['DELETE', /^\/organizations\/([^/]+)\/api_keys\/(\d+)$/, (asked) => revoke(asked, administered(asked))],
  ['GET', /^\/projects$/, listProjects],
  ['GET', /^\/projects\/shared$/, (asked) => (ownScope(asked), { projects: [] })],
  ['GET', /^\/projects\/([^/]+)\/operations$/, listOperations],
  ['GET', /^\/projects\/([^/]+)\/operations\/([^/]+)$/, oneOperation],
  ['GET', /^\/projects\/([^/]+)\/branches$/, (asked) => ({ branches: [mainBranch(projectOf(asked))], pagination: {} })],
  ['GET', /^\/projects\/([^/]+)\/branches\/([^/]+)\/roles$/, (asked) => (projectOf(asked), { roles: [] })],
  ['GET', /^\/projects\/([^/]+)\/permissions$/, (asked) => (projectOf(asked), { project_permissions: [] })],
  ['GET', /^\/projects\/([^/]+)\/jwks$/, (asked) => (projectOf(asked), { jwks: [] })],
];

/** Answers a request. Throws a Refusal for everything but a success. */
export function answer(truth: Truth, question: Question): unknown {
  const caller = truth.keys.find(({ secret, revokedAt }) => secret === question.secret && revokedAt === null);
  if (caller === undefined) throw new Refusal(401, 'supplied credentials do not pass authentication');
  truth.use(caller, question.address);
  for (const [method, path, route] of routes) {
    const found = method === question.method ? path.exec(question.path) : null;
    if (found === null) continue;
    const [, first = '', second = ''] = found.map((id) => decodeURIComponent(id ?? ''));
    return route({ ...question, truth, caller, ids: [first, second] });
  }
  throw new Refusal(404, 'this route does not exist');
}

/** Marks the digits of an int64, which the server writes as a number. */
const int64 = (digits: string) => `int64!${digits}`;

/** Returns an answer's JSON text, with every digit of its int64 numbers. */
export const writeJson = (body: unknown): string => JSON.stringify(body).replace(/"int64!(-?\d+)"/g, '$1');

function whoAmI({ caller }: Asked) {
  const accountId = caller.scope.slice(caller.scope.indexOf(':') + 1);
  return { auth_data: '', auth_method: isPersonal(caller) ? 'api_key_user' : 'api_key_org', account_id: accountId };
}

function currentUser(asked: Asked) {
  ownScope(asked);
  const { id, email, name } = asked.caller.creator;
  return { plan: 'free_v3', auth_accounts: [], email, id, login: name, last_name: '', name, image: '' };
}

function organizationsOf(asked: Asked) {
  const scope = ownScope(asked);
  return asked.truth.organizations.filter(({ members }) => members.some(({ user }) => `user:${user.id}` === scope));
}

const showOrganization = ({ id, name, createdAt }: Truth['organizations'][number]) => ({
  updated_at: writeTime(createdAt, { digits: 'trimmed', zone: 'Z' }),
  created_at: writeTime(createdAt, { digits: 'trimmed', zone: 'Z' }),
  managed_by: 'console',
  plan: 'scale_v4',
  handle: id,
  name,
  id,
});

/** Pages of two members, with cursors that need escaping. The last page has a pagination without a cursor. */
function members(asked: Asked) {
  const all = organizationOf(asked).members;
  const cursor = asked.query.get('cursor');
  const from = cursor === null ? 0 : all.findIndex(({ id }) => cursor === `{"member_id":"${id}"}+/&?=%41 ✓`) + 1;
  if (cursor !== null && from === 0) throw new Refusal(400, 'invalid cursor');
  const page = all.slice(from, from + 2);
  const next = from + 2 < all.length ? { next: `{"member_id":"${page.at(-1)?.id}"}+/&?=%41 ✓` } : {};
  return {
    pagination: { sort_order: 'desc', sort_by: 'joined_at', ...next },
    members: page.map(({ id, user, role }) => ({
      user: { has_mfa: true, email: user.email },
      member: { role, org_id: asked.ids[0], user_id: user.id, id },
    })),
  };
}

/** The styles of the times of keys: each key has one, so that a list mixes them. */
const keyTimes: TimeStyle[] = [
  { digits: 0, zone: 'Z' },
  { digits: 'trimmed', zone: 'Z' },
  { digits: 9, zone: 'Z' },
  { digits: 6, zone: '+05:30' },
  { digits: 3, zone: '-00:00' },
];
/** The ways to say that a key was never used. */
const unused = [{ last_used_at: null }, {}, { last_used_at: '0001-01-01T00:00:00Z' }];

const timesOf = (truth: Truth, key: ApiKey) =>
  keyTimes[truth.keys.indexOf(key) % keyTimes.length] ?? { digits: 0, zone: 'Z' };

function showKey(truth: Truth, key: ApiKey, creator: unknown) {
  const times = timesOf(truth, key);
  const use = key.lastUse;
  return {
    last_used_from_addr: use?.address ?? '',
    ...(use === null ? unused[truth.keys.indexOf(key) % unused.length] : { last_used_at: writeTime(use.at, times) }),
    ...(key.projectId === null ? {} : { project_id: key.projectId }),
    created_by: creator,
    created_at: writeTime(key.createdAt, times),
    name: key.name,
    id: int64(key.id),
  };
}

function listKeys({ truth }: Asked, scope: string) {
  const live = truth.keys.filter((key) => key.scope === scope && key.revokedAt === null);
  return live.map((key) => showKey(truth, key, { image: '', name: key.creator.name, id: key.creator.id })).toReversed();
}

function createKey({ truth, caller, body }: Asked, scope: string, projectId: string | null = null) {
  const name: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'key_name') : undefined;
  if (typeof name !== 'string' || name.length < 1 || name.length > 64) throw new Refusal(400, 'key_name is not valid');
  const key = truth.addKey({ name, scope, projectId, creator: caller.creator });
  const {
    last_used_at: _at,
    last_used_from_addr: _from,
    ...shown
  }: Record<string, unknown> = showKey(truth, key, key.creator.id);
  return { ...shown, key: key.secret };
}

function createOrganizationKey(asked: Asked) {
  ownScope(asked);
  const scope = administered(asked);
  const given: unknown =
    typeof asked.body === 'object' && asked.body !== null ? Reflect.get(asked.body, 'project_id') : undefined;
  const isOwn = asked.truth.projects.some(({ id, organizationId }) => id === given && organizationId === asked.ids[0]);
  if (given !== undefined && !isOwn) throw new Refusal(404, 'project not found');
  return createKey(asked, scope, typeof given === 'string' ? given : null);
}

/** Returns the scope of an organization's keys. Only its administrators and its own keys may see it. */
function administered(asked: Asked): string {
  const { id, members } = organizationOf(asked);
  const role = members.find(({ user }) => user.id === asked.caller.creator.id)?.role;
  if (isPersonal(asked.caller) && role !== 'admin')
    throw new Refusal(403, 'user is not an administrator of the organization');
  return `organization:${id}`;
}

function revoke({ truth, ids: [, keyId] }: Asked, scope: string) {
  const key = truth.keys.find((each) => each.id === keyId && each.scope === scope && each.revokedAt === null);
  if (key === undefined) throw new Refusal(404, 'api key not found');
  key.revokedAt = truth.now();
  return { ...showKey(truth, key, key.creator.id), revoked: true };
}
