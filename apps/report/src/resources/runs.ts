import { runItem, runList } from '@keywarden/db/report';
import { allowWhole } from '../access/roles.ts';
import { columnsFor } from '../dashboard/columns.ts';
import { time } from '../dashboard/html.ts';
import { word } from '../parameters.ts';
import type { Resource } from '../resource.ts';

const { kind, status } = runItem.shape;
const filters = { kind: kind.optional(), connection: word.optional(), status: status.optional() };

export const runs: Resource<typeof runItem, typeof filters> = {
  name: 'runs',
  summary: 'Sync runs, newest first',
  access: allowWhole('viewer'),
  item: runItem,
  filters,
  list: ({ query }) => runList(query),
  page: {
    title: 'Sync runs',
    fields: { kind: 'Kind', status: 'Status' },
    columns: columnsFor(runItem, {
      id: 'Run',
      kind: 'Kind',
      connection: 'Connection',
      status: 'Status',
      started_at: 'Started',
      finished_at: { label: 'Finished', cell: (run) => (run.finished_at === null ? '' : time(run.finished_at)) },
      counts: {
        label: 'Counts',
        is: 'text',
        cell: ({ counts }) =>
          Object.entries(counts)
            .map(([name, count]) => `${name.replaceAll('_', ' ')} ${count.toLocaleString('en')}`)
            .join(', '),
      },
      error: { label: 'Error', cell: ({ error }) => error?.message ?? error?.code ?? '' },
    }),
    empty: 'There is no sync run yet. Start the daemon, or run keywarden sync.',
  },
};
