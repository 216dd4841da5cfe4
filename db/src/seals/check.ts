import { addDays, canonicalJson, type DayRange, daysOf, monthOf, startOfDay } from '@keywarden/core/values';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Interval, interval, listCoverage } from '../coverage/coverage.ts';
import { operationSeal } from '../schema/ledger.ts';
import { builderOf, type Sql, type Tx, toArray } from '../sql.ts';
import { coverageOf, type DayCoverage } from './day-coverage.ts';
import {
  emptyRootText,
  hashDays,
  holdPages,
  readDropOrder,
  readDrops,
  readFirstSeals,
  readNewestSeals,
} from './read.ts';
import {
  findFirstDay,
  LostOperations,
  listSettledProjects,
  readOldestDay,
  type SettledProject,
  sealChangedDays,
  sealProjects,
} from './seals.ts';

/**
 * A day whose operations, coverage or gaps are not those of its newest seal, whose seals do not follow one another or name another project, or that should
 * have a seal. The comparison ignores the state of sealing, because an attacker who can change operations can change that too.
 */
export interface SealFault {
  /** The project's number in the store. */
  project: string;
  day: string;
}

/**
 * Compares the operations, the coverage and the gaps of each sealed day with its newest seal, each seal with the one before, and the project that seals name
 * with the one of their number. Looks for days without a seal; a day with operations before the first seal of its project lacks one too. `months` chooses the
 * months whose operations are compared, such as `2026-05`; all by default. Days that pages changed are sealed again first, so that such a change is in the
 * ledger. Days that retention has dropped since their seal have no rows.
 */
export async function checkSeals(
  store: Sql,
  { signal, months = () => true }: { signal: AbortSignal; months?: ((month: string) => boolean) | undefined },
): Promise<SealFault[]> {
  const faults = [
    ...(await findMisnamed(store)),
    ...(await findUnsealed(store)),
    ...(await findBeforeFirst(store, signal)),
  ];
  for (const part of joinMonths((await listSealedMonths(store)).filter(({ month }) => months(month)))) {
    signal.throwIfAborted();
    faults.push(...(await store.begin(async (tx) => await checkDays(tx, part))));
  }
  return faults;
}

interface SealedMonth {
  project: string;
  month: string;
  /** Those of all its seals. */
  operations: number;
}

async function listSealedMonths(store: Sql): Promise<SealedMonth[]> {
  const month = sql<string>`to_char(${operationSeal.day}, 'YYYY-MM')`;
  return await builderOf(store)
    .select({
      project: operationSeal.projectNumber,
      month,
      operations: sql`sum(${operationSeal.operations})`.mapWith(Number),
    })
    .from(operationSeal)
    .groupBy(operationSeal.projectNumber, month)
    .orderBy(operationSeal.projectNumber, month);
}

/** Pages of a project wait while so many of its operations are compared, or one month if that has more. */
const operationsAtOnce = 50_000;

/** Joins months of one project that follow each other. A month on its own takes as many questions as many months with few operations. */
function joinMonths(sealed: SealedMonth[]): ProjectDays[] {
  const parts: (ProjectDays & { operations: number })[] = [];
  for (const { project, month, operations } of sealed) {
    const range = daysOfMonth(month);
    const last = parts.at(-1);
    if (last?.project === project && last.range.to === range.from && last.operations + operations <= operationsAtOnce) {
      last.range.to = range.to;
      last.operations += operations;
    } else parts.push({ project, range, operations });
  }
  return parts;
}

const daysOfMonth = (month: string): DayRange => ({
  from: `${month}-01`,
  to: `${monthOf(addDays(`${month}-01`, 31))}-01`,
});

/**
 * Returns the first day of each project whose seals name another project than the one of their number, or one that two numbers have. Otherwise a project in
 * the place of another would begin seals of its own under that name.
 */
async function findMisnamed(store: Sql): Promise<SealFault[]> {
  const rows = await store`
    with named as (
      select project_number, project, min(day) as day from keywarden.operation_seal group by project_number, project
    )
    select n.project_number::text as project, min(n.day)::text as day
    from named n
      left join keywarden.project p on p.number = n.project_number
      left join keywarden.control_plane c on c.number = p.control_plane_number
    where n.project is distinct from c.base_url || ' ' || p.id
      or exists (select from named other where other.project = n.project and other.project_number <> n.project_number)
    group by n.project_number
    order by n.project_number`;
  return rows.map(({ project, day }) => ({ project: String(project), day: String(day) }));
}

/**
 * Returns days without a seal, from the first seal of each project up to the last day that is sealed even with gaps. A project that lacks one is sealed first: it
 * may have been walked or listed since the last time.
 */
async function findUnsealed(store: Sql): Promise<SealFault[]> {
  const faults: SealFault[] = [];
  for (const project of await listUnsealed(store, await listSettledProjects(store))) {
    await store
      .begin(async (tx) => await sealProjects(tx, [project]))
      .catch((error: unknown) => {
        if (!(error instanceof LostOperations)) throw error;
        faults.push(...error.days.map((day) => ({ project: project.number, day })));
      });
    faults.push(...(await store.begin(async (tx) => await listUnsealedDays(tx, project))));
  }
  return faults;
}

/**
 * Returns the first day of each project that has operations before its first seal. Pages mark such days, and they are sealed; operations that no page
 * brought stay without a seal.
 */
async function findBeforeFirst(store: Sql, signal: AbortSignal): Promise<SealFault[]> {
  const faults: SealFault[] = [];
  const isBefore = async (tx: Sql | Tx, project: string, first: string | undefined) => {
    const oldest = await readOldestDay(tx, project);
    return oldest !== null && first !== undefined && oldest < first ? oldest : null;
  };
  for (const [project, first] of await readFirstSeals(store)) {
    signal.throwIfAborted();
    if ((await isBefore(store, project, first)) === null) continue;
    const found = await store.begin(async (tx) => {
      await holdPages(tx, [project]);
      await sealChangedDays(tx, project);
      return await isBefore(tx, project, (await readFirstSeals(tx, [project])).get(project));
    });
    if (found !== null) faults.push({ project, day: found });
  }
  return faults;
}

/** Returns the projects that lack a seal of a day, or have none although they have operations or coverage. */
async function listUnsealed(store: Sql, settled: SettledProject[]): Promise<SettledProject[]> {
  const rows = await store`
    select w.number::text from unnest(${toArray(settled, ({ number }) => number)}::bigint[],
        ${toArray(settled, ({ gapsSettledTo }) => gapsSettledTo)}::date[]) as w(number, to_day)
      left join (select project_number, min(day) as first, count(distinct day) as days from keywarden.operation_seal group by 1) s
        on s.project_number = w.number
    where s.first is null or s.days < (
      select count(*) from generate_series(s.first, greatest(w.to_day, s.first) - 1, interval '1 day'))`;
  const numbers = new Set(rows.map(({ number }) => String(number)));
  return settled.filter(({ number }) => numbers.has(number));
}

async function listUnsealedDays(tx: Tx, { number, gapsSettledTo }: SettledProject): Promise<SealFault[]> {
  const first = (await readFirstSeals(tx, [number])).get(number);
  if (first !== undefined) {
    const sealed = await readNewestSeals(tx, number, { from: first, to: gapsSettledTo });
    const missing = daysOf({ from: first, to: gapsSettledTo }).filter((day) => !sealed.has(day));
    return missing.map((day) => ({ project: number, day }));
  }
  const [listed] = await listCoverage(builderOf(tx), { numbers: [number], limit: 1 });
  const day = listed === undefined ? null : await findFirstDay(tx, number, listed);
  return day !== null && day < gapsSettledTo ? [{ project: number, day }] : [];
}

/** Days of a project, from the first of a month up to that of a later one. */
interface ProjectDays {
  project: string;
  range: DayRange;
}

/** Compares whole months of a project, in a transaction that holds its pages. */
export async function checkDays(tx: Tx, { project, range }: ProjectDays): Promise<SealFault[]> {
  await holdPages(tx, [project]);
  const faults = new Set((await sealChangedDays(tx, project)).filter((day) => day >= range.from && day < range.to));
  const drops = await readDrops(tx, range);
  const broken = await tx`
    select day::text, number::text, before::text, replaces is distinct from before as is_unlinked from (
      select s.day, number, replaces, operations, lag(s.number) over w as before, lag(operations) over w as operations_before
      from keywarden.operation_seal s
      where project_number = ${project} and s.day >= ${range.from} and s.day < ${range.to} window w as (partition by s.day order by s.number)) s
    where replaces is distinct from before or operations < operations_before
    order by day`;
  const seals = await readNewestSeals(tx, project, range);
  const isDroppedAfter = await readDropOrder(tx, drops, [
    ...[...seals.values()].map(({ number }) => number),
    ...broken.flatMap(({ number, before }) => [String(number), String(before)]),
  ]);
  for (const { day, number, before, is_unlinked: isUnlinked } of broken)
    if (isUnlinked === true || !isDroppedAfter(String(day), String(before), String(number))) faults.add(String(day));
  for (const [month, found] of drops)
    for (const day of await listKept(tx, { project, range: daysOfMonth(month), dropped: found.at(-1)?.at }))
      faults.add(day);
  const [listed] = await listCoverage(builderOf(tx), { numbers: [project], limit: 1 });
  const hashed = await hashDays(tx, project, range);
  for (const [day, seal] of seals) {
    if (!hashed.has(day) && isDroppedAfter(day, seal.number)) continue;
    const { operations, root } = hashed.get(day) ?? { operations: 0, root: emptyRootText };
    const { covered, gaps }: DayCoverage = listed === undefined ? { covered: [], gaps: [] } : coverageOf(listed, day);
    const isCovered = [covered, covered.filter(isLived)].some((each) => canonicalJson(each) === seal.covered);
    const isSame = isCovered && canonicalJson(timesOf(gaps)) === timesOfSealed(seal.gaps);
    if (operations !== seal.operations || root !== seal.root || !isSame) faults.add(day);
  }
  return [...faults].map((day) => ({ project, day }));
}

/** Earlier versions did not seal the times before a project's creation and after its deletion. */
const isLived = ({ reason }: DayCoverage['covered'][number]) => reason === undefined;

/** Returns gaps without their reasons, which may change: the times of the gap do not. */
function timesOf(gaps: Interval[]): Interval[] {
  return gaps.map(({ from, to, from_included, to_included }) => ({ from, to, from_included, to_included }));
}

const sealedGaps = z.array(z.looseObject(interval.shape));

/** Returns the times of a seal's gaps as canonical JSON; null if they have another form. */
function timesOfSealed(gaps: string): string | null {
  try {
    return canonicalJson(timesOf(sealedGaps.parse(JSON.parse(gaps))));
  } catch {
    // Only an owner of the database writes such a seal.
    return null;
  }
}

/**
 * Returns the days with rows that were there an hour before their month was dropped: a drop leaves none, so it did not happen. A page that began shortly
 * before a drop may write its rows after it.
 */
async function listKept(
  tx: Tx,
  { project, range: { from, to }, dropped }: { project: string; range: DayRange; dropped: string | undefined },
): Promise<string[]> {
  if (dropped === undefined) return [];
  const rows = await tx`
    select distinct (created_at at time zone 'UTC')::date::text as day from keywarden.operation
    where project_number = ${project} and created_at >= ${startOfDay(from)}::timestamptz and created_at < ${startOfDay(to)}::timestamptz
      and seen_at < ${dropped}::timestamptz - interval '1 hour'`;
  return rows.map(({ day }) => String(day));
}
