import { styleText } from 'node:util';
import { print, printable, printError } from '@keywarden/runtime';
import { type Columns, type Form, renderList } from './output.ts';

type State = 'ok' | 'blocked' | 'warning' | 'failed';

/** The lines of `check`: printed at once for people, or all at the end for machines. */
export interface CheckReport {
  add(check: string, state: State, message: string): void;
  end(): void;
}

const labelWidth = 14;

/** Creates the report of `check`. What is ok or blocked goes to standard output, and the rest to standard error. */
export function createCheckReport(form: Form | undefined = 'table'): CheckReport {
  const lines: { check: string; state: State; message: string }[] = [];
  return {
    add(check, state, message) {
      lines.push({ check, state, message });
      if (form !== 'table') return;
      const label = check.padEnd(labelWidth);
      if (state === 'ok') console.log(`${label} ${styleText('green', 'ok')}: ${printable(message)}`);
      else if (state === 'blocked') console.log(`${label} ${styleText('yellow', 'blocked')}: ${printable(message)}`);
      else printError(`${label} ${message}`);
    },
    end() {
      if (form === 'table') return;
      const columns: Columns<(typeof lines)[number]> = {
        CHECK: ({ check }) => check,
        STATE: ({ state }) => state,
        MESSAGE: ({ message }) => message,
      };
      print(renderList(lines, columns, { form, json: { checks: lines }, none: '' }));
    },
  };
}
