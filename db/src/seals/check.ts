import { canonicalJson } from '@keywarden/core/values';
import { sql } from 'drizzle-orm';
import { listCoverage } from '../coverage/coverage.ts';
import { operationSeal } from '../schema/ledger.ts';
import { builderOf, type Sql, type Tx, toArray } from '../sql.ts';
import { addDays, coverageOf, monthOf } from './days.ts';
import { emptyRootText, hashDays, holdPages, readDroppedMonths, readNewestSeals, readSealedProjects } from './read.ts';
import { findFirstDay, listSettledProjects, sealChangedDays } from './seals.ts';

/**
 * A day whose operations or coverage are not those of its newest seal, whose seals do not follow one another, or that should have one. Its state of sealing is
 * not believed: who can change operations can change that too.
 */
export interface SealFault {
  /** The project's number in the store. */
  project: string;
  day: string;
}

/**
 * Compares the operations and the coverage of each sealed day with its newest seal, and each seal with the one before, and looks for days without a seal.
 * `months` chooses the months whose operations are compared, such as `2026-05`; all by default. Days that pages changed are sealed again first, so that such
 * a change is in the ledger. Months that retention has dropped are left out.
 */
export async function checkSeals(
  store: Sql,
  { signal, months = () => true }: { signal: AbortSignal; months?: ((month: string) => boolean) | undefined },
): Promise<SealFault[]> {
  const faults = await store.begin(findUnsealed);
  const month = sql<string>`to_char(${operationSeal.day}, 'YYYY-MM')`;
  const sealed = await builderOf(store)
    .selectDistinct({ project: operationSeal.projectNumber, month })
    .from(operationSeal)
    .orderBy(operationSeal.projectNumber, month);
  for (const each of sealed) {
    if (!months(each.month)) continue;
    signal.throwIfAborted();
    faults.push(...(await store.begin(async (tx) => await checkMonth(tx, each))));
  }
  return faults;
}

/** Returns days from the first seal of each project up to the last that is sealed even with gaps, which have no seal. */
async function findUnsealed(tx: Tx): Promise<SealFault[]> {
  const settled = await listSettledProjects(tx);
  const missing = await tx`
    select s.project_number::text as project, d::date::text as day
    from (select project_number, min(day) as first from keywarden.operation_seal group by 1) s
      join unnest(${toArray(settled, ({ number }) => number)}::bigint[], ${toArray(settled, ({ patientTo }) => patientTo)}::date[]) as w(number, to_day)
        on w.number = s.project_number
      cross join generate_series(s.first, w.to_day - 1, interval '1 day') d
    where not exists (select from keywarden.operation_seal o where o.project_number = s.project_number and o.day = d::date)
    order by 1, 2`;
  const faults = missing.map(({ project, day }) => ({ project: String(project), day: String(day) }));
  const numbers = settled.map(({ number }) => number);
  const sealed = await readSealedProjects(tx, numbers);
  for (const { number, patientTo } of settled) {
    if (sealed.has(number)) continue;
    const [coverage] = await listCoverage(builderOf(tx), { numbers: [number], limit: 1 });
    const first = coverage === undefined ? null : await findFirstDay(tx, number, coverage);
    if (first !== null && first < patientTo) faults.push({ project: number, day: first });
  }
  return faults;
}

async function checkMonth(tx: Tx, { project, month }: { project: string; month: string }): Promise<SealFault[]> {
  await holdPages(tx, [project]);
  const range = { from: `${month}-01`, to: `${addDays(`${month}-01`, 31).slice(0, 7)}-01` };
  const faults = new Set((await sealChangedDays(tx, project)).filter((day) => monthOf(day) === month));
  const broken = await tx`
    select distinct day::text from (
      select s.day, replaces, operations, lag(s.number) over w as before, lag(operations) over w as operations_before from keywarden.operation_seal s
      where project_number = ${project} and s.day >= ${range.from} and s.day < ${range.to} window w as (partition by s.day order by s.number)) s
    where replaces is distinct from before or operations < operations_before order by day`;
  for (const { day } of broken) faults.add(String(day));
  if (!(await readDroppedMonths(tx, range)).has(month)) {
    const [coverage] = await listCoverage(builderOf(tx), { numbers: [project], limit: 1 });
    const seals = await readNewestSeals(tx, project, range);
    const hashed = await hashDays(tx, project, range);
    for (const [day, seal] of seals) {
      const { operations, root } = hashed.get(day) ?? { operations: 0, root: emptyRootText };
      const covered = coverage === undefined ? '[]' : canonicalJson(coverageOf(coverage, day).covered);
      if (operations !== seal.operations || root !== seal.root || covered !== seal.covered) faults.add(day);
    }
  }
  return [...faults].map((day) => ({ project, day }));
}
