import { canonicalJson } from '@keywarden/core/values';
import { listCoverage } from '../coverage/coverage.ts';
import { builderOf, type Sql, type Tx } from '../sql.ts';
import { addDays, coverageOf } from './days.ts';
import { hashDays, holdPages, readDroppedMonths, readNewestSeals, readStates } from './read.ts';

/** A day whose operations or coverage are not those of its newest seal, although no page changed them. */
export interface SealFault {
  /** The project's number in the store. */
  project: string;
  day: string;
}

/**
 * Compares the operations and the coverage of each sealed day with its newest seal. `months` chooses the months, such as `2026-05`; all by default. Days
 * that wait to be sealed again, and months that retention has dropped, are left out.
 */
export async function checkSeals(
  sql: Sql,
  { signal, months = () => true }: { signal: AbortSignal; months?: ((month: string) => boolean) | undefined },
): Promise<SealFault[]> {
  const rows = await sql`
    select s.project_number::text as project, s.month from (
        select distinct project_number, to_char(day, 'YYYY-MM') as month from keywarden.operation_seal) s
    order by s.project_number, s.month`;
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
  const [coverage] = await listCoverage(builderOf(tx), { numbers: [project], limit: 1 });
  const changed = (await readStates(tx, [project])).get(project)?.changed ?? [];
  const seals = await readNewestSeals(tx, project, range);
  const hashed = await hashDays(tx, project, range);
  if ((await readDroppedMonths(tx)).has(month)) return [];
  const differs = ([day, seal]: [string, { operations: number; root: string; covered: string }]) => {
    if (changed.some(({ from, to }) => from <= day && day < to)) return false;
    const { operations, root } = hashed.get(day) ?? { operations: 0, root: seal.root };
    const covered = coverage === undefined ? '[]' : canonicalJson(coverageOf(coverage, day).covered);
    return operations !== seal.operations || root !== seal.root || covered !== seal.covered;
  };
  return [...seals].filter(differs).map(([day]) => ({ project, day }));
}
