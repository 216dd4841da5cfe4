import { printableJson, usageError, writeCsv } from '@keywarden/runtime';
import type { Command } from 'commander';
import { renderTable } from './table.ts';

const forms = ['table', 'json', 'csv'] as const;

/** How a command prints its result: for people, as JSON, or as the rows of a list. */
export type Form = (typeof forms)[number];

/** The options of output, as a command gets them: `json` is set if `output` is json. */
export interface OutputOptions {
  output?: Form;
  json?: boolean;
}

/** Adds the options of output to a command, and checks them. Only a list has CSV. */
export function addOutput(command: Command, { isList }: { isList: boolean }): void {
  command
    .option('-o, --output <form>', isList ? 'table, json or csv' : 'table or json')
    .option('--json', 'the same as --output json')
    .hook('preAction', (_program, self) => {
      const { output, json = false } = self.opts<{ output?: string; json?: boolean }>();
      const possible = isList ? forms : forms.slice(0, 2);
      const form = possible.find((each) => each === (output ?? (json ? 'json' : 'table')));
      if (form === undefined) throw usageError(`There is no output ${output}; use one of ${possible.join(', ')}.`);
      if (json && form !== 'json') throw usageError(`--json contradicts --output ${form}; use one of them.`);
      self.setOptionValue('output', form);
      self.setOptionValue('json', form === 'json');
    });
}

/** The columns of a list: the header of each, and what it shows of an item. */
export type Columns<T> = Record<string, (item: T) => string>;

/**
 * Returns a list as a table for people, as CSV with the same columns, or as JSON. An apostrophe precedes each text that a spreadsheet would run as a
 * formula.
 */
export function renderList<T>(
  items: readonly T[],
  columns: Columns<T>,
  {
    form = 'table',
    json = items,
    none,
    after,
  }: { form?: Form | undefined; json?: unknown; none: string; after?: string },
): string {
  const headers = Object.keys(columns);
  const rows = items.map((item) => Object.values(columns).map((show) => show(item)));
  if (form === 'json') return printableJson(json);
  if (form === 'csv')
    return writeCsv([headers.map((header) => header.toLowerCase()), ...rows], { lineEnd: '\n' }).trimEnd();
  if (rows.length === 0) return none;
  return [renderTable(headers, rows), ...(after === undefined ? [] : [after])].join('\n\n');
}
