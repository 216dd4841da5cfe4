import type { Company, CompanyCounts, Limits } from '@keywarden/sandbox';

/** A fault, as the sandbox's README lists it. The sandbox refuses an unknown kind or route. */
export interface Fault {
  kind: string;
  method?: string;
  path?: string;
  after?: number;
  times?: number;
  status?: number;
  message?: string;
  body?: string;
  retry_after?: string;
  latency_ms?: number;
}

export interface AddedOperations {
  count?: number;
  age_seconds?: number;
  late_seconds?: number;
  going_on_seconds?: number;
}

/** The true state of a key, regardless of what lists show. */
export interface TrueKey {
  id: number | string;
  kind: string;
  organization_id: string | null;
  project_id: string | null;
  user_id: string;
  name: string;
  created_at: string;
  last_used_at: string | null;
  revoked_at: string | null;
}

export interface TrueProject {
  id: string;
  organization_id: string;
  deleted_at: string | null;
  operations: number;
}

interface Requests {
  requests: number;
  rate_limited: number;
}

/** The sandbox's own controls, which packages/sandbox/README.md describes. Each throws when the sandbox refuses. */
export interface Controls {
  generate(company?: Partial<Company>): Promise<CompanyCounts>;
  /** Returns the sandbox's time, RFC 3339. */
  now(): Promise<string>;
  /** Advances the sandbox's time by this many seconds. Returns the new time. */
  advance(seconds: number): Promise<string>;
  setWork(work: {
    operations_per_day?: number;
    system_trouble?: number;
    request_trouble?: number;
    seed?: number;
  }): Promise<void>;
  setSettings(settings: { pagination?: string; times?: string; project_keys?: string }): Promise<void>;
  setLimits(limits: Partial<Limits>): Promise<void>;
  /** Replaces all faults by these. */
  setFaults(faults: readonly Fault[]): Promise<void>;
  stats(): Promise<Requests & { by_route: Record<string, Requests> }>;
  resetStats(): Promise<void>;
  /** Returns the ids, group by group. */
  addOperations(projectId: string | undefined, groups: AddedOperations[]): Promise<string[][]>;
  /** Returns the operations that lists show and those that lists no longer show, with their times on request. */
  operations(
    projectId: string | undefined,
    options?: { withTimes?: boolean },
  ): Promise<{ served: string[]; pruned: string[]; created_at: Record<string, string> }>;
  keys(): Promise<TrueKey[]>;
  projects(): Promise<TrueProject[]>;
  /** Records a use of a branch's credential now. */
  useCredential(tokenId: string): Promise<void>;
}

/** Returns the controls below an address, such as `sandbox.controlUrl`. `fetch` may be one that uses no socket. */
export function createControls(controlUrl: string, fetch: typeof globalThis.fetch = globalThis.fetch): Controls {
  const send = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${controlUrl}/${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok)
      throw new Error(`${method} /${path} of the sandbox's controls answered ${response.status}: ${text}`);
    return JSON.parse(text) as T; // the sandbox's own shapes
  };
  return {
    generate: async (company = {}) => await send('POST', 'generate', company),
    now: async () => (await send<{ now: string }>('GET', 'clock')).now,
    advance: async (seconds) => (await send<{ now: string }>('POST', 'clock', { advance_seconds: seconds })).now,
    setWork: async (work) => void (await send('PUT', 'work', work)),
    setSettings: async (settings) => void (await send('PUT', 'settings', settings)),
    setLimits: async (limits) => void (await send('PUT', 'limits', limits)),
    setFaults: async (faults) => void (await send('PUT', 'faults', faults)),
    stats: async () => await send('GET', 'stats'),
    resetStats: async () => void (await send('DELETE', 'stats')),
    addOperations: async (projectId, groups) => await send('POST', 'operations', { project_id: projectId, groups }),
    operations: async (projectId, { withTimes = false } = {}) =>
      await send('GET', `operations?project_id=${projectId}${withTimes ? '&with_times=true' : ''}`),
    keys: async () => await send('GET', 'keys'),
    projects: async () => await send('GET', 'projects'),
    useCredential: async (tokenId) => void (await send('POST', `credentials/${encodeURIComponent(tokenId)}/use`)),
  };
}
