import { checkSeals } from '@keywarden/db/daemon';
import { listCoverage } from '@keywarden/db/report';
import type { Store } from '@keywarden/db/store';
import type { Scenario } from './scenario.ts';

/** The findings of a simulation, added up over its checks. */
export interface Tally {
  checks: number;
  /** Counts of the operations that the control plane listed: those inside the claimed coverage, and those outside. */
  claimed: number;
  unclaimed: number;
  versions: number;
}

/** Versions of operations as responses contained them, by operation. */
export type Served = Map<string, Set<string>>;

interface Stored {
  id: string;
  version: string;
  isCurrent: boolean;
}

/**
 * Compares the archive with the truth. Every operation that was ever listed and lies inside the claimed coverage must be stored. Every stored version
 * must be one that was served. Throws an Error that names the first deviation.
 */
export async function checkArchive(store: Store, scenario: Scenario, served: Served | null): Promise<Tally> {
  const tally: Tally = { checks: 1, claimed: 0, unclaimed: 0, versions: 0 };
  for (const [projectId, operations] of await scenario.truth()) {
    // Claims are read first: the last statement of a killed process may still commit, and rows that arrive later do no harm.
    const claims = await claimsOf(store, projectId);
    const rows = await storedOf(store, projectId);
    const ids = new Set(rows.map(({ id }) => id));
    for (const [id, createdAt] of operations) {
      const isClaimed = claims(microsOf(createdAt));
      tally[isClaimed ? 'claimed' : 'unclaimed'] += 1;
      if (isClaimed && !ids.has(id)) throw new Error(`${projectId} claims ${createdAt} and lacks operation ${id}`);
    }
    for (const { id, version } of rows) {
      tally.versions += 1;
      if (!operations.has(id)) throw new Error(`${projectId} has operation ${id}, which never existed`);
      if (served !== null && !served.get(id)?.has(version))
        throw new Error(`operation ${id} is stored as ${version}, which was never served`);
    }
  }
  return tally;
}

/**
 * Checks the archive after a pass that nothing disturbed: what is served now must be stored as it is served. Exceptions are instants with more
 * operations than a page can show, and the control plane's own work since the pass began.
 */
export async function checkCurrent(
  store: Store,
  scenario: Scenario,
  { pageLimit, passBeganAt, isHostile = false }: { pageLimit: number; passBeganAt: string; isHostile?: boolean },
): Promise<void> {
  const began = microsOf(passBeganAt);
  const projects = await scenario.controls.projects();
  for (const { id: projectId } of projects.filter((project) => project.deleted_at === null)) {
    const stored = new Map(
      (await storedOf(store, projectId)).filter((row) => row.isCurrent).map((row) => [row.id, row.version]),
    );
    const { served, created_at: times } = await scenario.controls.operations(projectId, { withTimes: true });
    const bearers = new Map<string, number>();
    for (const id of served) bearers.set(times[id] ?? '', (bearers.get(times[id] ?? '') ?? 0) + 1);
    for (const id of served) {
      const at = times[id] ?? '';
      if (stored.has(id) || microsOf(at) >= began || (bearers.get(at) ?? 0) >= pageLimit) continue;
      // The archive searches again for what a walk missed only while it is surely served.
      if (isHostile && microsOf(at) < began - servedMicros) continue;
      throw new Error(`${projectId} lacks operation ${id} of ${at}, which is served`);
    }
    await compareVersions(scenario, { projectId, stored, began, isHostile });
  }
}

/**
 * Compares each sealed day of a store with its newest seal. No day may differ from it, with any control plane. Returns the number of seals. Throws
 * an Error that names the days that differ, with the numbers of their projects.
 */
export async function checkSealed({ sql }: Store): Promise<number> {
  const differing = await checkSeals(sql, { signal: new AbortController().signal });
  if (differing.length > 0) throw new Error(`days differ from their seals: ${JSON.stringify(differing.slice(0, 10))}`);
  const [row] = await sql`select count(*)::int as seals from keywarden.operation_seal`;
  return Number(row?.seals);
}

async function compareVersions(
  { sandbox, fetch }: Scenario,
  {
    projectId,
    stored,
    began,
    isHostile,
  }: { projectId: string; stored: Map<string, string>; began: number; isHostile: boolean },
): Promise<void> {
  for (let cursor = ''; ; ) {
    const response = await fetch(`${sandbox.url}/projects/${projectId}/operations?limit=1000${cursor}`, {
      headers: { authorization: `Bearer ${sandbox.adminKey}` },
    });
    // The sandbox responds in this shape.
    const page = (await response.json()) as { operations: ServedRow[]; pagination?: { cursor: string } };
    for (const row of page.operations) {
      const version = stored.get(row.id);
      const isOlder = microsOf(row.updated_at) < began;
      // A version that was read with fewer digits keeps them if nothing has changed since.
      const isAsServed = isHostile ? version?.split(' ')[0] === row.status : version === versionOf(row);
      if (isOlder && version !== undefined && !isAsServed) {
        throw new Error(`operation ${row.id} is served as ${versionOf(row)} and stored as ${version}`);
      }
    }
    if (page.pagination === undefined) return;
    cursor = `&cursor=${encodeURIComponent(page.pagination.cursor)}`;
  }
}

export interface ServedRow {
  id: string;
  status: string;
  updated_at: string;
  failures_count: number;
  error?: string;
}

export function versionOf({ status, updated_at: at, failures_count: failures, error = '' }: ServedRow): string {
  return [status, microsOf(at), failures, error].join(' ');
}

async function storedOf(store: Store, projectId: string): Promise<Stored[]> {
  const rows = await store.sql`
    with stored as (
      select project_number, id, status, updated_at, failures_count, error, true as is_current from keywarden.operation
      union all
      select project_number, id, status, updated_at, failures_count, error, false from keywarden.operation_version
    )
    select s.id, concat_ws(' ', s.status, (extract(epoch from s.updated_at) * 1000000)::bigint, s.failures_count, coalesce(s.error, '')) as version,
      s.is_current
    from stored s join keywarden.project p on p.number = s.project_number where p.id = ${projectId}`;
  return rows.map((row) => ({ id: String(row.id), version: String(row.version), isCurrent: Boolean(row.is_current) }));
}

async function claimsOf(store: Store, projectId: string): Promise<(micros: number) => boolean> {
  const [{ coverage } = {}] = await listCoverage(store.db, { projectId, limit: 1 });
  const known = (coverage?.known ?? []).map(({ from, to, from_included, to_included }) => ({
    first: microsOf(from) + (from_included ? 0 : 1),
    last: microsOf(to) - (to_included ? 0 : 1),
  }));
  return (micros) => known.some(({ first, last }) => micros >= first && micros <= last);
}

const servedMicros = 180 * 86_400 * 1e6;

/** Returns microseconds since 1970, which a double holds exactly. */
function microsOf(at: string): number {
  const digits = (/\.(\d+)/.exec(at)?.[1] ?? '').padEnd(6, '0');
  const zone = /(Z|[+-]\d\d:\d\d)$/.exec(at)?.[0] ?? 'Z';
  return Date.parse(`${at.slice(0, 19)}${zone}`) * 1000 + Number(digits.slice(0, 6));
}
