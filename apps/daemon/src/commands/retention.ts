import type { ExpiredMonth } from '@keywarden/db/daemon';
import { exitCode, print } from '@keywarden/runtime';
import { dropDueMonths, findExpiredMonths } from '../retention.ts';
import type { CommandOf } from './command.ts';
import { userName } from './common.ts';
import { type Columns, type Form, type OutputOptions, renderList } from './output.ts';
import { storeOnly, withContext } from './session.ts';

export const retentionCommand: CommandOf = {
  name: 'retention',
  about: 'List the months of operations that exceed retention.operations, or drop them',
  options: { '--drop': 'drop these months now' },
  output: 'list',
  examples: ['', '--drop'],
  run: runRetention,
};

/**
 * Runs the dry run of `retention.operations`. With `drop`, drops the months that an earlier dry run named at least a day ago.
 */
async function runRetention({ drop = false, output }: OutputOptions & { drop?: boolean }): Promise<number> {
  return await withContext(async (context) => {
    const months = await findExpiredMonths(context);
    if (drop) await dropDueMonths(context, { months, by: userName() });
    const states = months.map((month) => ({ month, state: stateOf(month, drop) }));
    print(render(states, { retention: context.config.retention.operations?.text, form: output }));
    return exitCode.done;
  }, storeOnly);
}

function stateOf({ isDue }: ExpiredMonth, drop: boolean): string {
  if (!isDue) return 'named';
  return drop ? 'dropped' : 'due';
}

function toJson({ month, operations, bytes, announcedAt }: ExpiredMonth) {
  return { month, operations, bytes, named_at: announcedAt };
}

function render(
  states: { month: ExpiredMonth; state: string }[],
  { retention, form }: { retention: string | undefined; form: Form | undefined },
): string {
  const columns: Columns<(typeof states)[number]> = {
    MONTH: ({ month }) => month.month,
    OPERATIONS: ({ month }) => String(month.operations),
    SIZE: ({ month }) => `${Math.ceil(month.bytes / 2 ** 20)} MB`,
    STATE: ({ state }) => state,
  };
  return renderList(states, columns, {
    form,
    json: { months: states.map(({ month, state }) => ({ ...toJson(month), state })) },
    none:
      retention === undefined
        ? 'Operations are kept for ever: retention.operations is not set.'
        : `No month of operations is older than ${retention}.`,
    after:
      'A month is due one day after a dry run named it: the daemon then drops it, or keywarden retention --drop does.',
  });
}
