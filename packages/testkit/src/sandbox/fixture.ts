import { createSandbox, noLimits, type Sandbox, type SandboxOptions } from '@keywarden/sandbox';
import { onTestFinished } from 'vitest';
import { createControls } from './controls.ts';

interface Answer<T> {
  status: number;
  body: T;
}

interface TestRequest {
  method?: string;
  body?: unknown;
  /** The administrator's key if absent. */
  key?: string;
  headers?: Record<string, string>;
}

/**
 * A sandbox for one test with two request functions: `api` for the service and `control` for its controls. Callers state the response shape that they
 * expect.
 */
export interface Fixture {
  sandbox: Sandbox;
  api: <T = { message: string }>(path: string, asking?: TestRequest) => Promise<Answer<T>>;
  control: <T = unknown>(path: string, asking?: Omit<TestRequest, 'key'>) => Promise<Answer<T>>;
  advance: (seconds: number) => Promise<void>;
  /** Advances until no operation of the project is in progress, and returns all of them. */
  settle: (projectId: string) => Promise<Operation[]>;
}

export interface Operation {
  id: string;
  action: string;
  status: string;
  branch_id?: string;
  endpoint_id?: string;
  failures_count: number;
  error?: string;
  retry_at?: string;
  created_at: string;
  updated_at: string;
}

/** Opens a sandbox without rate limits that closes when the test ends. */
export async function openFixture(options: SandboxOptions = {}): Promise<Fixture> {
  const sandbox = await createSandbox({ limits: noLimits, ...options });
  onTestFinished(async () => await sandbox.close());
  return fixtureOf(sandbox);
}

export function fixtureOf(sandbox: Sandbox): Fixture {
  const ask = async <T>(url: string, { method, body, headers }: TestRequest): Promise<Answer<T>> => {
    const response = await fetch(url, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
  };
  const fixture: Fixture = {
    sandbox,
    api: async (path, { key = sandbox.adminKey, ...asking } = {}) =>
      await ask(`${sandbox.url}${path}`, { ...asking, headers: { authorization: `Bearer ${key}`, ...asking.headers } }),
    control: async (path, asking = {}) => await ask(`${sandbox.controlUrl}${path}`, asking),
    advance: async (seconds) => {
      await createControls(sandbox.controlUrl).advance(seconds);
    },
    settle: async (projectId) => {
      for (;;) {
        const { operations } = (
          await fixture.api<{ operations: Operation[] }>(`/projects/${projectId}/operations?limit=1000`)
        ).body;
        if (!operations.some(isGoingOn)) return operations;
        await fixture.advance(5);
      }
    },
  };
  return fixture;
}

/** A failure that is retried has `retry_at`; a failure of generated history has none. */
function isGoingOn({ status, retry_at: retryAt }: Operation): boolean {
  return ['scheduling', 'running', 'cancelling'].includes(status) || retryAt !== undefined;
}

/** Returns a company of two organizations with four projects. `organization` and `project` are the first that lists show. */
export async function companyFixture(options: SandboxOptions = {}) {
  const fixture = await openFixture(options);
  const company = { organizations: 2, projects: 4, keys: 40, operations: 6000, months: 9, seed: 3 };
  const { body: counts } = await fixture.control<Record<string, number>>('/generate', { body: company });
  const { organizations } = (await fixture.api<{ organizations: { id: string }[] }>('/users/me/organizations')).body;
  const organization = organizations[0]?.id ?? '';
  const { projects } = (await fixture.api<{ projects: { id: string }[] }>(`/projects?org_id=${organization}&limit=400`))
    .body;
  return { ...fixture, counts, organization, project: projects[0]?.id ?? '' };
}

/** Returns a new project of the first organization of a small company, with its first operations done. */
export async function projectFixture(options: SandboxOptions = {}) {
  const fixture = await openFixture(options);
  await fixture.control('/generate', { body: { organizations: 2, projects: 0, keys: 0, operations: 0 } });
  const { organizations } = (await fixture.api<{ organizations: { id: string }[] }>('/users/me/organizations')).body;
  const [organization = '', other = ''] = organizations.map(({ id }) => id);
  const made = await fixture.api<{
    project: { id: string };
    branch: { id: string };
    endpoints: { id: string }[];
    operations: Operation[];
  }>('/projects', { body: { project: { org_id: organization, name: 'shop' } } });
  const project = made.body.project.id;
  await fixture.settle(project);
  return {
    ...fixture,
    organization,
    other,
    project,
    made: made.body,
    branch: made.body.branch.id,
    endpoint: made.body.endpoints[0]?.id ?? '',
  };
}
