import { userInfo } from 'node:os';
import { exitCode } from '@keywarden/core/process';
import { dropMonths, findExpiredMonths } from '../retention.ts';
import { printJson, withContext } from './session.ts';
import { renderTable } from './table.ts';

/** The dry run of `retention.operations`; with `drop` what an earlier one has named goes. */
export async function retentionCommand({ drop, json }: { drop?: boolean; json?: boolean }): Promise<number> {
  return await withContext(
    async (context) => {
      const months = await findExpiredMonths(context);
      if (drop) await dropMonths(context, { months, by: userInfo().username, announcedForMs: 0 });
      if (json) printJson({ dropped: drop === true, months });
      else console.log(render(months, { drop, retention: context.config.retention.operations?.text }));
      return exitCode.done;
    },
    { needsControlPlane: false },
  );
}

function render(
  months: Awaited<ReturnType<typeof findExpiredMonths>>,
  { drop, retention }: { drop: boolean | undefined; retention: string | undefined },
): string {
  if (retention === undefined) return 'Operations are kept for ever: retention.operations is not set.';
  if (months.length === 0) return `No month of operations is older than ${retention}.`;
  const rows = months.map(({ month, operations, bytes }) => [
    month,
    String(operations),
    `${Math.ceil(bytes / 2 ** 20)} MB`,
  ]);
  return [
    renderTable(['MONTH', 'OPERATIONS', 'SIZE'], rows),
    drop
      ? `Dropped. Coverage names these months as not known.`
      : `Older than ${retention}; nothing was dropped. The daemon drops them in a day; to drop them now: keywarden retention --drop`,
  ].join('\n\n');
}
