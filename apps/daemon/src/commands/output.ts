import { exitCode, print, printableJson, usageError, writeCsv } from '@keywarden/runtime';
import type { Command } from 'commander';
import { requireOneOf } from './common.ts';
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
      const form = requireOneOf(output ?? (json ? 'json' : 'table'), possible, 'output');
      if (json && form !== 'json') throw usageError(`--json contradicts --output ${form}; use one of them.`);
      self.setOptionValue('output', form);
      self.setOptionValue('json', form === 'json');
    });
}

/** What a command prints: a list in any form, or a result as text or JSON. */
export interface Listed {
  render: (form: Form) => string;
}

/** What a command found. `needsPerson`: it exits with 3. */
type Found = (Listed | { json: unknown; text: string }) & { needsPerson?: boolean; code?: number };

/** What a command found, or its exit code if it has printed that. */
export type Answer = Found | number;

/** Prints what a command found in the form that the user wants. Returns the exit code. */
export function printAnswer(answer: Answer, { output: form = 'table' }: OutputOptions): number {
  if (typeof answer === 'number') return answer;
  if ('render' in answer) print(answer.render(form));
  else if (form === 'json') console.log(printableJson(answer.json));
  else print(answer.text);
  return answer.code ?? (answer.needsPerson ? exitCode.needsPerson : exitCode.done);
}

/** Returns a text of the parts that are there: one a line, or apart by another separator. */
export const joined = (parts: (string | false | null)[], separator = '\n'): string =>
  parts.filter((part) => part !== false && part !== null).join(separator);

/** Returns a list of items, for `renderList`. */
export const list = <T>(items: readonly T[], columns: Columns<T>, shown: Omit<Shown, 'form'>): Listed => ({
  render: (form) => renderList(items, columns, { ...shown, form }),
});

/** The columns of a list: the header of each, and what it shows of an item. */
export type Columns<T> = Record<string, (item: T) => string>;

interface Shown {
  form?: Form | undefined;
  json?: unknown;
  /** The text of an empty list. */
  none: string;
  after?: string;
  /** The longest line of a table; by default that of the terminal. */
  width?: number | undefined;
}

/** Returns a list as a table, as CSV with the same columns, or as JSON. `writeCsv` keeps spreadsheets from running a text as a formula. */
export function renderList<T>(
  items: readonly T[],
  columns: Columns<T>,
  { form = 'table', json = items, none, after, width }: Shown,
): string {
  const headers = Object.keys(columns);
  const rows = items.map((item) => Object.values(columns).map((show) => show(item)));
  if (form === 'json') return printableJson(json);
  if (form === 'csv')
    return writeCsv([headers.map((header) => header.toLowerCase()), ...rows], { lineEnd: '\n' }).trimEnd();
  if (rows.length === 0) return none;
  return joined([renderTable(headers, rows, width), after ?? null], '\n\n');
}
