import { type Asked, organizationOf, outside, Refusal } from './access.ts';
import { type Nanos, type Operation, type Project, writeTime } from './truth.ts';

// The routes of projects and their operations.

function readLimit(query: URLSearchParams, usual: number, most: number): number {
  const text = query.get('limit') ?? String(usual);
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > most) throw new Refusal(400, `limit must be between 1 and ${most}`);
  return limit;
}

/** Pages of two projects, however many are requested. The list ends with an empty page. A cursor is the id of a page's last project. */
export function listProjects(asked: Asked) {
  const { truth, caller, query } = asked;
  if (caller.projectId !== null) throw outside(caller);
  const organizationId = query.get('org_id') ?? /^organization:(.*)/.exec(caller.scope)?.[1];
  if (organizationId === undefined)
    throw new Refusal(400, 'org_id is required, you can find it on your organization settings page');
  organizationOf({ ...asked, ids: [organizationId, ''] });
  const isDeletedList = query.get('recoverable') === 'true';
  const limit = Math.min(2, readLimit(query, 10, 400));
  const all = truth.projects.filter(
    (each) => each.organizationId === organizationId && (each.deletedAt !== null) === isDeletedList,
  );
  const cursor = query.get('cursor');
  const page = all.slice(cursor === null ? 0 : all.findIndex(({ id }) => id === cursor) + 1).slice(0, limit);
  const unavailable = page.filter(({ isUnavailable }) => isUnavailable).map(({ id }) => id);
  return {
    applications: {},
    ...(page.length > 0 ? { pagination: { cursor: page.at(-1)?.id } } : {}),
    ...(unavailable.length > 0 ? { unavailable_project_ids: unavailable } : {}),
    projects: page.filter(({ isUnavailable }) => !isUnavailable).map(showProject),
  };
}

const showProject = ({ id, name, organizationId, createdAt, updatedAt, deletedAt, style: { times } }: Project) => ({
  ...(deletedAt === null
    ? {}
    : {
        deleted_at: writeTime(deletedAt, times),
        recoverable_until: writeTime(deletedAt + 604_800_000_000_000n, times),
      }),
  effective_project_permission: null,
  quota_reset_at: '0001-01-01T00:00:00Z',
  updated_at: writeTime(updatedAt, times),
  created_at: writeTime(createdAt, times),
  pg_version: 18,
  region_id: 'aws-us-east-2',
  org_id: organizationId,
  name,
  id,
});

export function projectOf({ truth, caller, ids: [id] }: Asked): Project {
  if (caller.projectId !== null && caller.projectId !== id) throw outside(caller);
  const project = truth.projects.find((each) => each.id === id && each.deletedAt === null);
  const organization = truth.organizations.find((each) => each.id === project?.organizationId);
  const isIn = organization?.members.some(({ user }) => caller.scope === `user:${user.id}`);
  if (project === undefined || !(isIn || caller.scope === `organization:${organization?.id}`))
    throw new Refusal(404, 'project not found');
  return project;
}

export const mainBranch = ({ id, createdAt }: Project) => ({
  created_at: writeTime(createdAt, { digits: 0, zone: 'Z' }),
  name: 'main',
  project_id: id,
  id: `br-${id}`,
});

/** The oldest operations that are served: those of six months. */
const servedNanos = 183n * 86_400_000_000_000n;
const gap = 'gap ';

export function listOperations(asked: Asked) {
  const project = projectOf(asked);
  const { style } = project;
  const served = project.operations
    .filter(({ createdAt }) => createdAt >= asked.truth.now() - servedNanos)
    .toSorted((a, b) => compare(b.createdAt, a.createdAt) || compare(b.id, a.id));
  const limit = Math.min(style.largestPage, readLimit(asked.query, 100, 1000));
  const cursor = asked.query.get('cursor');
  if (cursor?.startsWith(gap)) return { pagination: { cursor: cursor.slice(gap.length) }, operations: [] };
  const below = cursor === null ? served : served.filter((each) => isBelow(each, cursor));
  const page = below.slice(0, limit);
  const last = page.at(-1);
  const operations = page.map((each) => showOperation(project, each));
  const isMore = page.length < below.length;
  if (last !== undefined && (isMore || style.end === 'empty page'))
    return { pagination: { cursor: `${style.hasEmptyPages ? gap : ''}${cursorOf(project, last)}` }, operations };
  if (style.end === 'null pagination') return { pagination: null, operations };
  return style.end === 'empty pagination' ? { pagination: {}, operations } : { operations };
}

const compare = <T extends bigint | string>(a: T, b: T) => (a < b ? -1 : Number(a > b));

/** A time with all digits, in the project's zone; or JSON with the row's place, which needs escaping in a URL. */
function cursorOf({ style }: Project, { createdAt, id }: Operation): string {
  if (style.cursor === 'time') return writeTime(createdAt, { digits: 'trimmed', zone: style.times.zone });
  return JSON.stringify({ v: 2, '+&=?#%2B ✓': String(createdAt), id, pad: '='.repeat(300) });
}

function isBelow({ createdAt, id }: Operation, cursor: string): boolean {
  const [, at, last = ''] = /"(\d+)","id":"([^"]+)"/.exec(cursor) ?? [];
  if (at !== undefined) return createdAt < BigInt(at) || (createdAt === BigInt(at) && id < last);
  return createdAt < readTime(cursor);
}

function readTime(text: string): Nanos {
  const [, whole, fraction = '', zone = ''] = /^([^.Z+]{19})(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  if (whole === undefined) throw new Refusal(400, 'invalid cursor');
  return BigInt(Date.parse(`${whole}${zone}`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}

const showOperation = ({ id: projectId, style: { times } }: Project, operation: Operation) => ({
  total_duration_ms: 0,
  ...operation.others,
  updated_at: writeTime(operation.updatedAt, times),
  created_at: writeTime(operation.createdAt, times),
  failures_count: operation.failuresCount,
  status: operation.status,
  action: operation.action,
  project_id: projectId,
  id: operation.id,
});

export function oneOperation(asked: Asked) {
  const project = projectOf(asked);
  const operation = project.operations.find(({ id }) => id === asked.ids[1]);
  if (operation === undefined) throw new Refusal(404, 'operation not found');
  return { operation: showOperation(project, operation) };
}
