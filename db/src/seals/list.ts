import { startOfDay } from '@keywarden/core/values';
import { sql } from 'drizzle-orm';
import { endedAt } from '../coverage/coverage.ts';
import { type PlacedEvent, readPlacedEvents } from '../ledger/receipts.ts';
import { type Reader, visible, when } from '../list.ts';
import { droppedAtOf, subjectsOfDrops } from './read.ts';

/** A project whose days are sealed. */
export interface SealedProject {
  number: string;
  /** The address of the control plane and the project's id. */
  name: string;
}

/**
 * Lists the projects with a seal, of some organizations or all, that existed on a day from `from` to before `to`. An id may be that of several projects. A
 * project that its control plane does not list as deleted may still exist.
 */
export async function listSealedProjects(
  db: Reader,
  {
    projectId,
    organizations,
    from,
    to,
  }: { projectId?: string | undefined; organizations: string[] | null; from: string; to: string },
): Promise<SealedProject[]> {
  const rows = await db.execute(sql`
    select p.number::text, cp.base_url || ' ' || p.id as name from keywarden.project p
      join keywarden.control_plane cp on cp.number = p.control_plane_number
    where exists (select from keywarden.operation_seal s where s.project_number = p.number)
      and p.created_at < ${startOfDay(to)}::timestamptz and coalesce(${endedAt} >= ${startOfDay(from)}::timestamptz, true)
      and ${when(projectId, (id) => sql`p.id = ${id}`) ?? sql`true`} and ${visible(sql`p.organization_id`, organizations)}
    order by p.number`);
  return rows.map(({ number, name }) => ({ number: String(number), name: String(name) }));
}

/** The days of a project whose seals are in one answer. */
const sealsAtOnce = 500;

/**
 * Yields the events of all seals of each day of a project, from one day up to another, which is excluded; those of one day in their order. A day that changed
 * since and waits to be sealed again is left out.
 */
export async function* readSealEvents(
  db: Reader,
  { project, from, to, size }: { project: string; from: string; to: string; size: number },
): AsyncGenerator<PlacedEvent[]> {
  const rows = await db.execute(sql`
    select s.number::text from keywarden.operation_seal s
    where s.project_number = ${project}::bigint and s.day >= ${from}::date and s.day < ${to}::date
      and not exists (select from keywarden.operation_sealing g where g.project_number = ${project}::bigint and g.changed @> s.day)
    order by s.day, s.number`);
  yield* eventsOfSeals(db, rows, size);
}

/**
 * Yields the events of the newest seal of each day that was sealed with gaps, of all projects, from one day up to another, which is excluded. A day that
 * changed since and waits to be sealed again is left out.
 */
export async function* readGapSealEvents(
  db: Reader,
  { from, to, size }: { from: string; to: string; size: number },
): AsyncGenerator<PlacedEvent[]> {
  const rows = await db.execute(sql`
    select s.number::text from keywarden.operation_seal s
    where s.day >= ${from}::date and s.day < ${to}::date and s.gaps <> '[]'
      and not exists (select from keywarden.operation_seal n where n.project_number = s.project_number and n.day = s.day and n.number > s.number)
      and not exists (select from keywarden.operation_sealing g where g.project_number = s.project_number and g.changed @> s.day)
    order by s.project_number, s.day`);
  yield* eventsOfSeals(db, rows, size);
}

async function* eventsOfSeals(
  db: Reader,
  seals: Record<string, unknown>[],
  size: number,
): AsyncGenerator<PlacedEvent[]> {
  const subjects = seals.map(({ number }) => `operation_seal/${String(number)}`);
  for (let at = 0; at < subjects.length; at += sealsAtOnce)
    yield await readPlacedEvents(db, { subjects: subjects.slice(at, at + sealsAtOnce), size });
}

/** Returns the events of the months that retention has dropped, from one day up to another, which is excluded. */
export async function readDropEvents(
  db: Reader,
  { from, to, size }: { from: string; to: string; size: number },
): Promise<PlacedEvent[]> {
  // The row of a month that is announced again, because operations came back, no longer has the former drop.
  const events = await readPlacedEvents(db, { subjects: subjectsOfDrops({ from, to }), size });
  return events.filter(({ content }) => droppedAtOf(content) !== null);
}
