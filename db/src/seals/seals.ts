import { canonicalJson, type DayRange, dayMs, dayOf, daysOf } from '@keywarden/core/values';
import { eq, sql as raw } from 'drizzle-orm';
import { type ListedCoverage, listCoverage } from '../coverage/coverage.ts';
import { toInstant } from '../schema/columns.ts';
import { operationSealing } from '../schema/operations.ts';
import { builderOf, type Sql, type Tx, toArray } from '../sql.ts';
import { coverageOf } from './day-coverage.ts';
import {
  type Drops,
  emptyRootText,
  hashDays,
  holdPages,
  readDropOrder,
  readDrops,
  readFirstSeals,
  readNewestSeals,
  readStates,
  type Sealable,
  type SealingState,
} from './read.ts';

/** A day is sealed so long after its end, by the control plane's clock: a row may become visible late (A8). */
const settledMs = 3_600_000;
/** A day that has gaps is sealed with them so long after its end. Until then, a walk may still fill them. */
const sealWithGapsAfterMs = 2 * dayMs;
/** A sealed day that changed is sealed again so long after the first change. */
const quiet = '10 minutes';

/** What a pass did. */
export interface Sealed {
  projects: number;
  days: number;
  /** Projects that could not be sealed, by their number. The next pass tries again. */
  failures: { project: string; error: unknown }[];
}

/** Projects that are sealed in one transaction, and transactions at once. */
const projectsAtOnce = 8;
const transactionsAtOnce = 4;

/**
 * Seals each settled day of each project, or of some by their numbers: what the archive has of it, and what it claims to have. Days that changed since are
 * sealed again. A page of a project waits while its days are sealed. A project that cannot be sealed does not stop the others.
 */
export async function sealDays(
  sql: Sql,
  { signal, projects }: { signal: AbortSignal; projects?: string[] | undefined },
): Promise<Sealed> {
  const done: Sealed = { projects: 0, days: 0, failures: [] };
  const waiting = (await listSettledProjects(sql, projects)).filter(({ isDue }) => isDue);
  const seal = async (batch: SettledProject[]): Promise<void> => {
    signal.throwIfAborted();
    try {
      const seals = await sql.begin(async (tx) => await sealProjects(tx, batch, signal));
      done.projects += new Set(seals.map(({ project }) => project)).size;
      done.days += seals.length;
    } catch (error) {
      const [first] = batch;
      if (first !== undefined && batch.length === 1) done.failures.push({ project: first.number, error });
      else for (const project of batch) await seal([project]);
    }
  };
  const work = async () => {
    while (waiting.length > 0) await seal(waiting.splice(0, projectsAtOnce));
  };
  await Promise.all(Array.from({ length: transactionsAtOnce }, work));
  return done;
}

export interface SettledProject {
  number: string;
  /** Days before it are settled. */
  settledTo: string;
  /** Days before it are sealed even if they have gaps. */
  gapsSettledTo: string;
  /** Whether a day waits to be sealed, or to be sealed again. */
  isDue: boolean;
}

/**
 * Lists the projects that were walked, all or those with these numbers. Their days end with the project, and with its last listing: that day is sealed once
 * a project has not been listed for two days, because its connection may have ended. A day has ended by the clock of the control plane and by that of the
 * database, whose time the seal has.
 */
export async function listSettledProjects(sql: Sql | Tx, numbers?: string[]): Promise<SettledProject[]> {
  const among = (column: string) =>
    numbers === undefined ? sql`true` : sql`${sql(column)} = any(${numbers}::bigint[])`;
  return await sql<SettledProject[]>`
    select found.number, settled_to::text as "settledTo", least(gaps_settled_to, settled_to)::text as "gapsSettledTo",
      (coalesce(sealed_to, '-infinity') < settled_to or changed <> '{}' and changed_at < now() - ${quiet}::interval) is true as "isDue"
    from (
      select p.number, s.sealed_to, s.changed, s.changed_at, (least(cp.at, now()) - ${sealWithGapsAfterMs / 1000} * interval '1 second')::date as gaps_settled_to,
        least((least(cp.at, now()) - ${settledMs / 1000} * interval '1 second')::date,
          case when p.missing_since is not null then p.missing_since::date + 1
            when p.last_seen_at < least(cp.at, now()) - ${(sealWithGapsAfterMs + dayMs) / 1000} * interval '1 second' then (p.last_seen_at - interval '1 microsecond')::date + 1
            else p.last_seen_at::date end) as settled_to
      from keywarden.project p join keywarden.control_plane_now cp on cp.control_plane_number = p.control_plane_number
        -- Cut first for a cluster (docs/adr/0017).
        left join (select project_number, sealed_to, changed, changed_at from keywarden.operation_sealing where ${among('project_number')} offset 0) s on s.project_number = p.number
      where p.walked_at is not null and ${among('p.number')}
    ) found
    order by found.number`;
}

/** The state of a project without a day that waits. */
const unchanged = { changed: '{}', changedAt: null };

/** A new seal: see db/src/schema/ledger.ts. */
interface Seal extends Sealable {
  project: string;
  name: string;
  day: string;
  replaces: string | null;
}

/** A project has days with fewer operations than were sealed: pages delete none. */
export class LostOperations extends Error {
  readonly days: string[];
  constructor(days: string[]) {
    super(`fewer operations than were sealed: ${days.join(', ')}`);
    this.days = days;
  }
}

/** Seals the days of some projects. Returns the new seals. Throws LostOperations. */
export async function sealProjects(tx: Tx, projects: SettledProject[], signal?: AbortSignal): Promise<Seal[]> {
  const numbers = projects.map(({ number }) => number);
  await holdPages(tx, numbers);
  const listed = await listCoverage(builderOf(tx), { numbers, limit: numbers.length });
  const states = await readStates(tx, numbers);
  const firsts = await readFirstSeals(tx, numbers);
  const seals: Seal[] = [];
  const sealed: { projectNumber: string; sealedTo: string }[] = [];
  for (const { number, settledTo, gapsSettledTo } of projects) {
    signal?.throwIfAborted();
    const project = listed.find((each) => each.number === number);
    const state = states.get(number);
    const first = state?.sealedTo ?? (await findFirstDay(tx, number, project));
    // A project of a clock that was ahead begins in days that have not ended.
    if (project === undefined || first === null || (state === undefined && first >= settledTo)) continue;
    const isSealable = (day: string) => day < gapsSettledTo || coverageOf(project, day).gaps.length === 0;
    const settled = { from: first, to: settledTo };
    const sealedTo = daysOf(settled).find((day) => !isSealable(day)) ?? (first < settledTo ? settledTo : first);
    const firstSeal = firsts.get(number);
    for (const range of [...rangesToSeal(state, firstSeal), { from: first, to: sealedTo }]) {
      const found = await sealRange(tx, { project, range, hasSeals: firstSeal !== undefined });
      if (found.lost.length > 0) throw new LostOperations(found.lost);
      seals.push(...found.seals);
    }
    sealed.push({ projectNumber: number, sealedTo });
  }
  await insertSeals(tx, seals);
  if (sealed.length > 0)
    await builderOf(tx)
      .insert(operationSealing)
      .values(sealed)
      .onConflictDoUpdate({
        target: operationSealing.projectNumber,
        set: { sealedTo: raw`excluded.sealed_to`, ...unchanged },
      });
  return seals;
}

/**
 * Returns the days to seal again, in ranges that do not touch. A day before the first seal is sealed with all days in between: each day after the first seal
 * has one. Without a seal, that is the day up to which the project is sealed.
 */
function rangesToSeal(state: SealingState | undefined, firstSeal = state?.sealedTo): DayRange[] {
  const ranges: DayRange[] = [];
  for (const { from, to } of state?.changed ?? []) {
    const end = firstSeal !== undefined && from < firstSeal && to < firstSeal ? firstSeal : to;
    const last = ranges.at(-1);
    if (last === undefined || from > last.to) ranges.push({ from, to: end });
    else if (end > last.to) last.to = end;
  }
  return ranges;
}

/**
 * Seals the days of a project that changed again, whenever that was. Returns the days that have fewer operations than were sealed, and stay as they are: pages
 * delete none. The caller holds the project's pages.
 */
export async function sealChangedDays(tx: Tx, project: string): Promise<string[]> {
  const state = (await readStates(tx, [project])).get(project);
  const changed = rangesToSeal(state, (await readFirstSeals(tx, [project])).get(project));
  const [listed] = await listCoverage(builderOf(tx), { numbers: [project], limit: 1 });
  if (changed.length === 0 || listed === undefined) return [];
  const lost: string[] = [];
  for (const range of changed) {
    const found = await sealRange(tx, { project: listed, range, hasSeals: true });
    await insertSeals(tx, found.seals);
    lost.push(...found.lost);
  }
  if (lost.length === 0)
    await builderOf(tx).update(operationSealing).set(unchanged).where(eq(operationSealing.projectNumber, project));
  return lost;
}

/** Returns the first day with anything that the archive has or claims; null if there is none. */
export async function findFirstDay(
  tx: Tx,
  project: string,
  listed: ListedCoverage | undefined,
): Promise<string | null> {
  const covered = listed?.coverage.known[0]?.from;
  const days = [covered === undefined ? null : dayOf(toInstant(covered)), await readOldestDay(tx, project)];
  return days.filter((day) => day !== null).toSorted()[0] ?? null;
}

/** Returns the day of a project's oldest operation; null if it has none. */
export async function readOldestDay(tx: Sql | Tx, project: string): Promise<string | null> {
  // The driver prepares this statement: planning one over all months takes longer than running it.
  const [row] = await tx`select min(created_at) as oldest from keywarden.operation where project_number = ${project}`;
  return typeof row?.oldest === 'string' ? dayOf(toInstant(row.oldest)) : null;
}

/**
 * Returns seals of the days of a range that differ from their newest seal, and the days with fewer operations than their seal: pages delete none. What was
 * sealed of a day that retention has dropped stays, until rows come back.
 */
async function sealRange(
  tx: Tx,
  { project: listed, range, hasSeals }: { project: ListedCoverage; range: DayRange; hasSeals: boolean },
): Promise<{ seals: Seal[]; lost: string[] }> {
  const { number: project, coverage } = listed;
  const drops: Drops = hasSeals ? await readDrops(tx, range) : new Map<string, never>();
  const hashed = await hashDays(tx, project, range);
  const newest = hasSeals ? await readNewestSeals(tx, project, range) : new Map<string, never>();
  const numbers = [...newest.values()].map(({ number }) => number);
  const isDroppedAfter = await readDropOrder(tx, drops, numbers);
  const name = `${coverage.control_plane} ${coverage.project_id}`;
  const seals: Seal[] = [];
  const lost: string[] = [];
  for (const day of daysOf(range)) {
    const before = newest.get(day);
    const isDropped = before !== undefined && isDroppedAfter(day, before.number);
    if (isDropped && !hashed.has(day)) continue;
    const { covered, gaps } = coverageOf(listed, day);
    const { operations, root } = hashed.get(day) ?? { operations: 0, root: emptyRootText };
    const seal = { operations, root, covered: canonicalJson(covered), gaps: canonicalJson(gaps) };
    if (before !== undefined && operations < before.operations && !isDropped) lost.push(day);
    else if (before === undefined || !isSame(before, seal))
      seals.push({ ...seal, project, name, day, replaces: before?.number ?? null });
  }
  return { seals, lost };
}

function isSame(a: Sealable, b: Sealable): boolean {
  return a.operations === b.operations && a.root === b.root && a.covered === b.covered && a.gaps === b.gaps;
}

async function insertSeals(tx: Tx, seals: Seal[]): Promise<void> {
  if (seals.length === 0) return;
  await tx`
    insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps, replaces)
    select project_number, project, day, operations, root, covered, gaps, replaces
    from unnest(${toArray(seals, ({ project }) => project)}::bigint[], ${toArray(seals, ({ name }) => name)}::text[],
      ${toArray(seals, ({ day }) => day)}::date[], ${toArray(seals, ({ operations }) => operations)}::bigint[],
      ${toArray(seals, ({ root }) => root)}::text[], ${toArray(seals, ({ covered }) => covered)}::text[], ${toArray(seals, ({ gaps }) => gaps)}::text[],
      ${toArray(seals, ({ replaces }) => replaces)}::bigint[]) with ordinality
      as t(project_number, project, day, operations, root, covered, gaps, replaces, place)
    order by place`;
}

/**
 * Marks the days since these projects went missing, or were last listed, to be sealed again. Call it before a project counts as back, and when it turns out to
 * have gone earlier. The seal of the first such day ends with the project.
 */
export async function markMissingDays(
  tx: Tx,
  { controlPlane, ids, seenAt }: { controlPlane: string; ids: string[]; seenAt: string },
): Promise<void> {
  const rows = await tx`
    select number::text, (coalesce(missing_since, last_seen_at) at time zone 'UTC')::date::text as day, now()::text as now from keywarden.project
    where control_plane_number = ${controlPlane} and id = any(${ids}) and (missing_since is not null or last_seen_at < ${seenAt}::timestamptz - interval '1 day')
    order by number`;
  for (const { number, day, now } of rows)
    await tx`
      update keywarden.operation_sealing set changed_at = coalesce(changed_at, ${String(now)}::timestamptz),
        changed = changed + datemultirange(daterange(${String(day)}::date, sealed_to))
      where project_number = ${String(number)} and sealed_to > ${String(day)}::date`;
}
