import { canonicalJson } from '@keywarden/core/values';
import { listCoverage } from '../coverage/coverage.ts';
import { builderOf, type Sql, type Tx } from '../sql.ts';
import { addDays, coverageOf } from './days.ts';
import { hashDays, holdPages, readDroppedMonths, readNewestSeals, readStates } from './read.ts';

/** A day whose operations or coverage are not those of its newest seal, although no page changed them, or whose seals do not follow one another. */
export interface SealFault {
  /** The project's number in the store. */
  project: string;
  day: string;
}

/**
 * Compares the operations and the coverage of each sealed day with its newest seal, and each seal with the one before. `months` chooses the months, such as
 * `2026-05`; all by default. Days that changed within a day wait to be sealed again, and are left out; so are months that retention has dropped.
 */
export async function checkSeals(
  sql: Sql,
  { signal, months = () => true }: { signal: AbortSignal; months?: ((month: string) => boolean) | undefined },
): Promise<SealFault[]> {
  const rows = await sql`
    select distinct project_number::text as project, to_char(day, 'YYYY-MM') as month from keywarden.operation_seal order by 1, 2`;
  const faults: SealFault[] = [];
  for (const { project, month } of rows) {
    if (!months(String(month))) continue;
    signal.throwIfAborted();
    faults.push(
      ...(await sql.begin(async (tx) => await checkMonth(tx, { project: String(project), month: String(month) }))),
    );
  }
  return faults;
}

async function checkMonth(tx: Tx, { project, month }: { project: string; month: string }): Promise<SealFault[]> {
  await holdPages(tx, [project]);
  const range = { from: `${month}-01`, to: `${addDays(`${month}-01`, 31).slice(0, 7)}-01` };
  const broken = await tx`
    select distinct day::text from (
      select s.day, replaces, operations, lag(s.number) over w as before, lag(operations) over w as operations_before from keywarden.operation_seal s
      where project_number = ${project} and s.day >= ${range.from} and s.day < ${range.to} window w as (partition by s.day order by s.number)) s
    where replaces is distinct from before or operations < operations_before order by day`;
  const faults = broken.map(({ day }) => String(day));
  if (!(await readDroppedMonths(tx, range)).has(month)) {
    const [coverage] = await listCoverage(builderOf(tx), { numbers: [project], limit: 1 });
    const state = (await readStates(tx, [project])).get(project);
    const waits = (day: string) =>
      state?.isRecent === true && state.changed.some(({ from, to }) => from <= day && day < to);
    const seals = await readNewestSeals(tx, project, range);
    const hashed = await hashDays(tx, project, range);
    for (const [day, seal] of seals) {
      const { operations, root } = hashed.get(day) ?? { operations: 0, root: seal.root };
      const covered = coverage === undefined ? '[]' : canonicalJson(coverageOf(coverage, day).covered);
      const isSame = operations === seal.operations && root === seal.root && covered === seal.covered;
      if (!waits(day) && !isSame) faults.push(day);
    }
  }
  return [...new Set(faults)].map((day) => ({ project, day }));
}
