import { styleText } from 'node:util';
import { exitCode, print, printable, printError } from '@keywarden/runtime';
import { type Columns, type Form, renderList } from './output.ts';

type State = 'ok' | 'blocked' | 'warning' | 'failed';

export type CheckReport = ReturnType<typeof createCheckReport>;

const labelWidth = 14;

/** Creates the report of `check`, for people line by line (failures and warnings on standard error), for machines all at the end. */
export function createCheckReport(form: Form | undefined = 'table') {
  const lines: { check: string; state: State; message: string }[] = [];
  let worst: number = exitCode.done;
  return {
    /** Adds a line. What has failed counts with its exit code. */
    add(check: string, state: State, message: string, exit: number = exitCode.failed): void {
      lines.push({ check, state, message });
      if (state === 'failed') worst = Math.max(worst, exit);
      if (form !== 'table') return;
      const label = check.padEnd(labelWidth);
      if (state === 'ok') console.log(`${label} ${styleText('green', 'ok')}: ${printable(message)}`);
      else if (state === 'blocked') console.log(`${label} ${styleText('yellow', 'blocked')}: ${printable(message)}`);
      else printError(`${label} ${message}`);
    },
    /** Ends the report. Returns the highest exit code of what has failed. */
    end(): number {
      if (form === 'table') return worst;
      const columns: Columns<(typeof lines)[number]> = {
        CHECK: ({ check }) => check,
        STATE: ({ state }) => state,
        MESSAGE: ({ message }) => message,
      };
      print(renderList(lines, columns, { form, json: { checks: lines }, none: '' }));
      return worst;
    },
  };
}
