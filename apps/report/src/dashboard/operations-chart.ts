import { addDays, dayMs, dayNumbered, daysOf, startOfDay } from '@keywarden/core/values';
import { operationBucketList, type Reader, readItems } from '@keywarden/db/report';
import type { Chart } from './html.ts';

/** Returns a chart of the last 30 days' operations by day and action. Actions beyond the five most frequent are grouped as "others". */
export async function operationsByDay(db: Reader, projects: string[] | null, untilMs: number): Promise<Chart> {
  const to = dayNumbered(Math.floor(untilMs / dayMs) + 1);
  const labels = daysOf({ from: addDays(to, -30), to });
  const range = { from: startOfDay(addDays(to, -30)), to: startOfDay(to) };
  const list = operationBucketList({ ...range, size: 'day', by: ['action'] }, projects);
  const buckets = await readItems(db, list, 2000);
  const totals = Map.groupBy(buckets, ({ action }) => action ?? '');
  const ranked = [...totals]
    .map(([name, of]) => ({ name, of, sum: of.reduce((sum, each) => sum + each.operations, 0) }))
    .toSorted((a, b) => b.sum - a.sum);
  const named = [
    ...ranked.slice(0, 5),
    ...(ranked.length > 5 ? [{ name: 'others', of: ranked.slice(5).flatMap(({ of }) => of) }] : []),
  ];
  return {
    title: 'Archived operations by day and action, last 30 days, as of the last minute',
    labels,
    series: named.map(({ name, of }) => ({
      name: name.replaceAll('_', ' '),
      values: labels.map((day) =>
        of.reduce((sum, each) => sum + (each.start.startsWith(day) ? each.operations : 0), 0),
      ),
    })),
  };
}
