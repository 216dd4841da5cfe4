import { dayMs } from '@keywarden/core/values';
import { operationBucketList, type Reader, readItems } from '@keywarden/db/report';
import type { Chart } from './html.ts';

/** Returns a chart of the last 30 days' operations by day and action. Actions beyond the five most frequent are grouped as "others". */
export async function operationsByDay(db: Reader, projects: string[] | null, untilMs: number): Promise<Chart> {
  const days = 30;
  const until = new Date((Math.floor(untilMs / dayMs) + 1) * dayMs);
  const from = new Date(until.getTime() - days * dayMs);
  const list = operationBucketList(
    { from: from.toISOString(), to: until.toISOString(), size: 'day', by: ['action'] },
    projects,
  );
  const buckets = await readItems(db, list, 2000);
  const labels = Array.from({ length: days }, (_, index) =>
    new Date(from.getTime() + index * dayMs).toISOString().slice(0, 10),
  );
  const totals = Map.groupBy(buckets, ({ action }) => action ?? '');
  const ranked = [...totals]
    .map(([name, of]) => ({ name, of, sum: of.reduce((sum, each) => sum + each.operations, 0) }))
    .toSorted((a, b) => b.sum - a.sum);
  const named = [
    ...ranked.slice(0, 5),
    ...(ranked.length > 5 ? [{ name: 'others', of: ranked.slice(5).flatMap(({ of }) => of) }] : []),
  ];
  return {
    title: 'Operations by day and action, last 30 days, as of the last minute',
    labels,
    series: named.map(({ name, of }) => ({
      name: name.replaceAll('_', ' '),
      values: labels.map((day) =>
        of.reduce((sum, each) => sum + (each.start.startsWith(day) ? each.operations : 0), 0),
      ),
    })),
  };
}
