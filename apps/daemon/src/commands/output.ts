import { printableJson, usageError } from '@keywarden/runtime';
import { stringify } from 'csv-stringify/sync';
import { renderTable } from './table.ts';

const forms = ['table', 'json', 'csv'] as const;
type Form = (typeof forms)[number];

/** The value of --output, as given. */
export type Output = string;

/** Returns the form of a list; by default a table. Throws a UserError for an unknown one. */
export function outputs(output: Output = 'table'): Form {
  const form = forms.find((each) => each === output);
  if (form === undefined) throw usageError(`There is no output ${output}; use one of ${forms.join(', ')}.`);
  return form;
}

/**
 * Returns a list as a table for people, as CSV with the same columns, or as JSON with the complete items. An apostrophe precedes each text that a
 * spreadsheet would run as a formula.
 */
export function renderRows(
  rows: Record<string, string>[],
  { form, items, none }: { form: Form; items: object[]; none: string },
): string {
  if (form === 'json') return printableJson(items);
  const [first] = rows;
  if (form === 'csv') return stringify(rows, { header: true, escape_formulas: true }).trimEnd();
  if (first === undefined) return none;
  const headers = Object.keys(first).map((name) => name.toUpperCase());
  return renderTable(headers, rows.map(Object.values));
}
