import { z } from '@hono/zod-openapi';
import { isTime, type LedgerRecordKind, type Principal, unwrap } from '@keywarden/db/report';
import { allowWhole, hasAccess } from '../access/roles.ts';
import { type Column, type Field, type Html, link, type Part, state, time } from './html.ts';

/** How each field is shown: a label, or parts of a column definition. */
type Labels<S extends z.ZodObject> = {
  [K in keyof z.output<S>]?: string | (Omit<Column<z.output<S>>, 'cell'> & Partial<Column<z.output<S>>>);
};

/** Returns the columns of a table, in the order of the labels. The schema and the name of a field determine its cells. */
export function columnsFor<S extends z.ZodObject>(schema: S, labels: Labels<S>): Column<z.output<S>>[] {
  return Object.entries(labels).map(([name, label]) => {
    const column = typeof label === 'string' ? { label } : (label ?? { label: name });
    const field = unwrap(schema.shape[name] ?? z.string());
    const cell = (item: z.output<S>) => show(name, field, item[name]);
    return { cell, ...styleOf(name, field), ...column };
  });
}

const sentences = new Set(['name', 'title', 'reason', 'why', 'why_held', 'why_not', 'error', 'event']);

function styleOf(name: string, field: z.core.$ZodType): Pick<Column<unknown>, 'is'> {
  if (sentences.has(name)) return { is: 'text' };
  if (field instanceof z.ZodEnum) return { is: 'word' };
  return field instanceof z.ZodNumber ? { is: 'number' } : {};
}

const states = new Set(['state', 'status', 'outcome', 'disposition', 'event']);

/** The page of the record that a field names: its address, less the id at its end. */
const pages = {
  owner: '/keys?owner=',
  organization_id: '/keys?organization_id=',
  project_id: '/projects/',
  rule: '/findings?rule=',
  review_id: '/reviews/',
};
const hasPage = (field: string): field is keyof typeof pages => Object.hasOwn(pages, field);

/** Returns a link to the record that a field names, with its id or another text. */
export function linkTo(field: keyof typeof pages, id: string, text = id): Html {
  return link(`${pages[field]}${encodeURIComponent(id)}`, text, text === id ? undefined : id);
}

/** Returns the organization by its name, as a link; the id is in the title. */
export function organizationLink(id: string | null, name: string | null | undefined): Part {
  return id === null ? 'personal' : linkTo('organization_id', id, name ?? id);
}

function show(name: string, field: z.core.$ZodType, value: unknown): Part {
  if (isTime(field)) return time(typeof value === 'string' ? value : null);
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return value.toLocaleString('en');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') {
    if (states.has(name)) return state(value);
    if (hasPage(name)) return linkTo(name, value);
    return field instanceof z.ZodEnum ? value.replaceAll('_', ' ') : value;
  }
  if (Array.isArray(value)) return value.join(', ');
  const { number, name: called } = value as { number?: string; name?: string };
  return number === undefined ? JSON.stringify(value) : link(`/keys/${number}`, called ?? number);
}

/** The labels of filters, with an example value if the schema gives none. */
export type Fields<F extends z.ZodRawShape> = { [K in keyof F]?: string | { label: string; placeholder?: string } };

/** Returns the controls of a filter form. The schema of a filter determines its values. */
export function fieldsFor<F extends z.ZodRawShape>(filters: F, labels: Fields<F>): Field[] {
  return Object.entries(labels).map(([name, label]) => {
    const field = typeof label === 'string' ? { label } : (label ?? { label: name });
    return { name, ...controlOf(name, filters[name]), ...field };
  });
}

function controlOf(name: string, filter: z.core.$ZodType | undefined): Partial<Field> {
  const inner = filter === undefined ? undefined : unwrap(filter);
  const schema = inner instanceof z.ZodPipe ? unwrap(inner.in) : inner;
  if (schema instanceof z.ZodEnum) return { options: schema.options.map(String) };
  if (name === 'q') return { type: 'search' };
  if (inner instanceof z.ZodPipe) return { placeholder: '90d' };
  return schema instanceof z.ZodISODateTime ? { placeholder: '2026-03-31' } : {};
}

/** Returns columns with one that links each record to its events in the ledger, for those who may see them. */
export function withProof<T extends Record<string, unknown>>(
  visit: { principal: Principal },
  kind: LedgerRecordKind,
  columns: Column<T>[],
): Column<T>[] {
  return maySeeLedger(visit)
    ? [...columns, { label: 'Ledger', cell: ({ id }) => proofLink(kind, String(id)) }]
    : columns;
}

/** Returns the link as a fact of a record's own page. */
export function proofFact(visit: { principal: Principal }, kind: LedgerRecordKind, id: string): [string, Part][] {
  return maySeeLedger(visit) ? [['Ledger', proofLink(kind, id)]] : [];
}

const maySeeLedger = ({ principal }: { principal: Principal }) => hasAccess(principal, allowWhole('auditor'));

const proofLink = (kind: LedgerRecordKind, id: string) =>
  link(`/ledger/events?about=${kind}%2F${encodeURIComponent(id)}`, 'proof');
