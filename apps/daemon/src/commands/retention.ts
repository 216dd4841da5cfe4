import type { ExpiredMonth } from '@keywarden/db/daemon';
import { usageError } from '@keywarden/runtime';
import { dropDueMonths, findExpiredMonths } from '../retention.ts';
import { describeCommand } from './command.ts';
import { userName } from './common.ts';
import { type Columns, list } from './output.ts';
import { storeOnly } from './with-context.ts';

export const retentionCommand = describeCommand({
  name: 'retention',
  about: 'List the months of operations that exceed retention.operations, or drop them',
  options: {
    '--drop': 'drop these months now',
    '--even-if-changed': 'with --drop: also months whose operations differ from their seals',
  },
  output: 'list',
  examples: ['', '--drop'],
  needs: storeOnly,
  check({ drop, evenIfChanged }) {
    if (evenIfChanged && !drop) throw usageError('--even-if-changed needs --drop.');
  },
  async run(context, { drop = false, evenIfChanged = false }) {
    const months = await findExpiredMonths(context);
    if (drop) await dropDueMonths(context, { months, by: userName(), evenIfChanged });
    const states = months.map((month) => ({ month, state: stateOf(month, drop) }));
    const retention = context.config.retention.operations?.text;
    const columns: Columns<(typeof states)[number]> = {
      MONTH: ({ month }) => month.month,
      OPERATIONS: ({ month }) => String(month.operations),
      SIZE: ({ month }) => `${Math.ceil(month.bytes / 2 ** 20)} MB`,
      STATE: ({ state }) => state,
    };
    return list(states, columns, {
      json: { months: states.map(({ month, state }) => ({ ...toJson(month), state })) },
      none:
        retention === undefined
          ? 'Operations are kept for ever: retention.operations is not set.'
          : `No month of operations is older than ${retention}.`,
      after:
        'A month is due 23 hours after a dry run named it: the daemon then drops it, or keywarden retention --drop does.',
    });
  },
});

function stateOf({ isDue }: ExpiredMonth, drop: boolean): string {
  if (!isDue) return 'named';
  return drop ? 'dropped' : 'due';
}

function toJson({ month, operations, bytes, announcedAt }: ExpiredMonth) {
  return { month, operations, bytes, named_at: announcedAt };
}
