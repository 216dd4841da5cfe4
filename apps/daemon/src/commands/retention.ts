import type { ExpiredMonth } from '@keywarden/db/daemon';
import { exitCode, print } from '@keywarden/runtime';
import { dropDueMonths, findExpiredMonths } from '../retention.ts';
import { userName } from './common.ts';
import { printJson, withContext } from './session.ts';
import { renderTable } from './table.ts';

/**
 * Runs the dry run of `retention.operations`. With `drop`, drops the months that an earlier dry run named at least a day ago.
 */
export async function retentionCommand({ drop = false, json }: { drop?: boolean; json?: boolean }): Promise<number> {
  return await withContext(
    async (context) => {
      const months = await findExpiredMonths(context);
      if (drop) await dropDueMonths(context, { months, by: userName() });
      const states = months.map((month) => ({ month, state: stateOf(month, drop) }));
      if (json) printJson({ months: states.map(({ month, state }) => ({ ...toJson(month), state })) });
      else print(render(states, context.config.retention.operations?.text));
      return exitCode.done;
    },
    { needsControlPlane: false },
  );
}

function stateOf({ isDue }: ExpiredMonth, drop: boolean): string {
  if (!isDue) return 'named';
  return drop ? 'dropped' : 'due';
}

function toJson({ month, operations, bytes, announcedAt }: ExpiredMonth) {
  return { month, operations, bytes, named_at: announcedAt };
}

function render(states: { month: ExpiredMonth; state: string }[], retention: string | undefined): string {
  if (retention === undefined) return 'Operations are kept for ever: retention.operations is not set.';
  if (states.length === 0) return `No month of operations is older than ${retention}.`;
  const rows = states.map(({ month: { month, operations, bytes }, state }) => [
    month,
    String(operations),
    `${Math.ceil(bytes / 2 ** 20)} MB`,
    state,
  ]);
  return [
    renderTable(['MONTH', 'OPERATIONS', 'SIZE', 'STATE'], rows),
    'A month is due one day after a dry run named it: the daemon then drops it, or keywarden retention --drop does.',
  ].join('\n\n');
}
