import { type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  countItems,
  type List,
  type Position,
  type Principal,
  pageSizes,
  type Reader,
  readItems,
  readPage,
} from '@keywarden/db/report';
import type { Context } from 'hono';
import { html } from 'hono/html';
import { authenticated } from '../access/authenticate.ts';
import { type Access, hasAccess, mayAct, permitted } from '../access/roles.ts';
import { type ListAddress, mostCursor, openCursor, sealCursor } from '../paging.ts';
import { camelled, type ListQuery, reason, whySwapped } from '../parameters.ts';
import { issueInWords, Problem } from '../problem.ts';
import type { Env, Services } from '../services.ts';
import { type Fields, fieldsFor } from './columns.ts';
import { type Column, type Field, filterForm, firstRows, type Html, type Part, table } from './html.ts';
import { type Page, renderPage, sentFrom } from './layout.ts';

/** The input of a page: the principal, and the query without empty values. */
export interface Visit {
  c: Context<Env>;
  principal: Principal;
  query: Record<string, string>;
}

/** The result of a form: the page to redirect to, and its flash message. */
interface Done {
  to: string;
  flash: keyof typeof flashMessages;
}

/** The flash messages after a form. The address carries only a name, so that a link cannot inject a text. */
const flashMessages = {
  approved: 'You have approved the plan.',
  rejected: 'You have rejected the plan.',
  made: 'This plan has only the chosen keys. Approve it here.',
  exempted: 'The exemption is granted.',
  ended: 'The exemption has ended.',
  session_ended: 'The session has ended.',
  requested: 'The rotation is requested. The daemon answers in its next pass.',
  opened: 'The review is open. Decide about each key.',
  campaign: 'The campaign is open. Its reviewers are reminded before the due date.',
  canceled: 'The campaign is canceled.',
  decided: 'Your decision is recorded.',
  signed: 'The review is signed, and its decisions take effect.',
};

const timeNames = new Set(['from', 'to', 'as_of']);

/** Returns the start of a day in UTC for a date, and other texts unchanged. */
const beginningOf = (text: string) => (/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);

/** Sends a visitor to the sign-in, and then to the page that was asked for. A form that came too late leads back to its page: nothing has read it. */
const signInFirst = (c: Context<Env>) => {
  const isForm = !['GET', 'HEAD'].includes(c.req.method);
  const { pathname, search } = isForm ? sentFrom(c) : new URL(c.req.url);
  return c.redirect(`/sign-in?next=${encodeURIComponent(pathname + search)}${isForm ? '&unsent=true' : ''}`, 303);
};

/** The report as its parts see it: what they work with, and what they add their routes, pages and forms to. */
export interface Report extends Services {
  app: OpenAPIHono<Env>;
  page: (path: string, access: Access, make: (visit: Visit) => Promise<Page>) => void;
  form: (path: string, access: Access, act: (visit: Visit, form: FormData) => Promise<Done>) => void;
}

/** Returns the report. Its pages and forms require a token: requests without one are redirected to sign-in, and each visit is recorded. */
export function makeReport(app: OpenAPIHono<Env>, services: Services): Report {
  const requireToken = authenticated(services, signInFirst);
  const accessOf = new Map<string, Access>();
  return {
    ...services,
    app,
    page: (path, access, make) => {
      accessOf.set(path, access);
      app.get(path, requireToken, permitted(access), async (c) => {
        const visit = visitOf(c);
        const { flash = '' } = visit.query;
        delete visit.query.flash;
        const page = await make(visit);
        // A link of another site says nothing about what the user has done.
        const isOwn = (c.req.header('sec-fetch-site') ?? 'same-origin') === 'same-origin';
        const notice =
          isOwn && Object.hasOwn(flashMessages, flash) ? flashMessages[flash as keyof typeof flashMessages] : undefined;
        const mayOpen = (href: string) => {
          const required = accessOf.get(href);
          return required !== undefined && hasAccess(visit.principal, required);
        };
        return c.html(renderPage(visit.principal, c.req.path, { notice, ...page, nowMs: services.now(), mayOpen }));
      });
    },
    form: (path, access, act) => {
      app.post(path, requireToken, permitted(access), async (c) => {
        const { to, flash } = await act(visitOf(c), await readSent(c));
        return c.redirect(`${to}${to.includes('?') ? '&' : '?'}flash=${flash}`, 303);
      });
    },
  };
}

function visitOf(c: Context<Env>): Visit {
  const repeated = Object.entries(c.req.queries()).find(([, values]) => values.length > 1);
  if (repeated !== undefined) throw new Problem(400, 'Bad filter', `${repeated[0]}: is given more than once.`);
  const filled = Object.entries(c.req.query()).filter(([, value]) => value !== '');
  const query = Object.fromEntries(
    filled.map(([name, value]) => [name, timeNames.has(name) ? beginningOf(value) : value]),
  );
  return { c, principal: c.get('principal'), query };
}

/** Parses a query by a schema. Throws a Problem (400) that names the invalid parameter. */
export function readQuery<S extends z.ZodRawShape>(
  filters: S,
  query: Record<string, string>,
): z.output<z.ZodObject<S>> {
  const parsed = z.strictObject(filters).safeParse(query);
  if (parsed.success) return parsed.data;
  throw new Problem(400, 'Bad filter', `${issueInWords(parsed.error)}.`);
}

/** Parses a path parameter. Throws a Problem (404) if it is not valid. */
export function readParameter<T extends z.ZodType>(c: Context, name: string, schema: T): z.output<T> {
  const parsed = schema.safeParse(c.req.param(name));
  if (parsed.success) return parsed.data;
  throw new Problem(404, 'Not found', 'This page does not exist; the menu lists all pages.');
}

/** Reads the fields of a sent form. Throws a Problem (400) for any other body. */
export async function readSent(c: Context): Promise<FormData> {
  return await c.req.formData().catch(() => {
    throw new Problem(400, 'Invalid form', 'The body must be the form data of the page; send the form again.');
  });
}

/** Returns a field of a form as trimmed text. Throws a Problem (400) for two values: they leave open which decision was meant. */
export function readField(form: FormData, name: string): string {
  const [value, ...others] = form.getAll(name);
  if (others.length > 0)
    throw new Problem(400, 'Invalid form', `${name}: is given more than once. Go back, fix it, and send it again.`);
  return typeof value === 'string' ? value.trim() : '';
}

/**
 * Parses the fields of a form, as trimmed texts, by their schemas. An optional field that is empty is absent, and a list has each value of its field. Throws a
 * Problem (400) that names the invalid field.
 */
export function readForm<F extends z.ZodRawShape>(form: FormData, fields: F): z.output<z.ZodObject<F>> {
  const values = Object.entries(fields).map(([name, field]) => {
    const value = field instanceof z.ZodArray ? form.getAll(name) : readField(form, name);
    return [name, field instanceof z.ZodOptional && value === '' ? undefined : value];
  });
  const parsed = z.object(fields).safeParse(Object.fromEntries(values));
  if (parsed.success) return parsed.data;
  throw new Problem(400, 'Invalid form', `${issueInWords(parsed.error)}. Go back, fix it, and send it again.`);
}

/** The box that confirms what cannot be taken back. A browser asks for it; other clients may not. */
export const confirmed = z.literal('on', { error: 'confirm it with the box' });

/** Returns the reason that a form gives. Throws a Problem (400) without one. */
export const readReason = (form: FormData): string => readForm(form, { reason }).reason;

const paging = {
  cursor: z.string().max(mostCursor).optional(),
  order: z.enum(['asc', 'desc']).optional(),
  sort: z.string().optional(),
};

export interface ListPart<S extends z.ZodObject, F extends z.ZodRawShape, O extends string> {
  item: S;
  filters: F;
  /** The labels of the filters in the form. */
  fields: Fields<F>;
  /** The fields that the list can be sorted by. */
  sorts?: readonly [O, ...O[]] | undefined;
  list: (request: ListQuery<F, O>) => List<S> | Promise<List<S>>;
  caption: string;
  columns: Column<z.output<S>>[];
  /** What a list without items says. With a filter of its form, it says that nothing matches. */
  empty: string;
  unmatched?: string | undefined;
  /** The name of the list's export, which auditors and operators see. */
  exported?: string | undefined;
}

/** Returns the position of a page. A visitor whose list has changed since sees its first page, and why. */
function openPage(address: ListAddress, list: List): { after: Position | null; notice: Part } {
  try {
    return { after: openCursor(address, list), notice: '' };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return {
      after: null,
      notice: html`<p class="notice" role="status">The list has changed. This is its first page.</p>`,
    };
  }
}

/** Returns a filtered and sorted page of a list, with links to the next page and to the export. */
export async function listPart<S extends z.ZodObject, F extends z.ZodRawShape, O extends string = never>(
  { c, query, principal }: Visit,
  { db, suggestions }: Services,
  { filters, fields, sorts, list: listOf, item, caption, columns, exported, ...without }: ListPart<S, F, O>,
): Promise<Html> {
  const form: Field[] = await Promise.all(
    fieldsFor(filters, fields).map(async (field) => ({
      ...field,
      suggestions: await suggestions(field.name, principal.organizations),
    })),
  );
  const shape = { ...filters, ...paging, ...(sorts && { sort: z.enum(sorts).optional() }) };
  const { error } = z.strictObject(shape).safeParse(query);
  const fault = error === undefined ? whySwapped(query) : issueInWords(error);
  if (form.length > 0 && fault !== undefined) {
    // The page keeps what was typed, and names a filter as its form does.
    c.status(400);
    const of = form.find(({ name }) => fault.startsWith(`${name}: `));
    const shown = of === undefined ? fault : `${of.label}${fault.slice(of.name.length)}`;
    return html`${filterForm(c.req.path, form, query)}<p class="notice bad" role="alert">${shown}.</p>`;
  }
  const {
    cursor: _cursor,
    order: direction,
    sort,
    ...given
  } = readQuery(shape, query) as z.output<z.ZodObject<F>> & z.output<z.ZodObject<typeof paging>>;
  const isFiltered = form.length > 0 && Object.keys(given).length > 0;
  const empty = isFiltered ? (without.unmatched ?? 'Nothing matches the filter.') : without.empty;
  const list = await listOf({
    db,
    query: camelled(given) as ListQuery<F, O>['query'],
    organizations: principal.organizations,
    sort: sorts?.find((each) => each === sort),
    direction,
  });
  const bound = { path: c.req.path, query: { ...query } };
  const { after, notice } = openPage(bound, list);
  const { items, next } = await readPage(db, list, { limit: pageSizes.dashboard, after });
  const shown = items.map((text) => item.parse(JSON.parse(text)));
  const isFirst = after === null;
  const total = next === null || !isFirst ? items.length : await countItems(db, list, mostCounted + 1);
  const address = (change: Record<string, string | undefined>) => {
    const { cursor: _cursor, ...rest } = query;
    const entries = Object.entries({ ...rest, ...change }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    return `${c.req.path}?${new URLSearchParams(entries).toString()}`;
  };
  const head = (column: Column<z.output<S>>): Part => {
    if (column.sort === undefined) return column.label;
    const isOn = sort === column.sort;
    const turned = isOn && list.direction === 'asc' ? 'desc' : 'asc';
    const arrow = isOn ? (list.direction === 'asc' ? ' ▲' : ' ▼') : '';
    return html`<a href="${address({ sort: column.sort, order: turned })}" aria-label="Sort by ${column.label}, ${turned === 'asc' ? 'ascending' : 'descending'}">${column.label}${arrow}</a>`;
  };
  return html`${form.length === 0 ? '' : filterForm(c.req.path, form, query)}${notice}
  ${table({ caption, columns, items: shown, empty, head })}
  <p class="paging">
    ${isFirst && items.length > 0 ? html`<span class="total">${countInWords(total)}</span>` : ''}
    ${exported !== undefined && mayAct(principal, 'auditor') ? exportLinks(exported, given, query) : ''}
    ${isFirst ? '' : html`<a class="button quiet" href="${address({})}">First page</a>`}
    ${next === null ? '' : html`<a class="button" href="${address({ cursor: sealCursor(bound, list, next) })}" rel="next">Next page</a>`}
  </p>`;
}

/** Longer lists are not counted to their end. */
const mostCounted = 10_000;

function countInWords(count: number): string {
  if (count > mostCounted) return `over ${mostCounted.toLocaleString('en')} rows`;
  return count === 1 ? '1 row' : `${count.toLocaleString('en')} rows`;
}

/** Returns the first items of a list as a table. */
export async function firstPart<S extends z.ZodObject>(
  db: Reader,
  list: List<S>,
  { limit = 50, ...shown }: { caption: string; columns: Column<z.output<S>>[]; empty: string; limit?: number },
): Promise<Html> {
  return firstRows({ ...shown, items: await readItems(db, list, limit + 1) }, limit);
}

/** Returns links to the export of the list. */
export function exportLinks(
  name: string,
  filters: Record<string, unknown> = {},
  query: Record<string, string> = {},
): Html {
  const given = Object.entries(query).filter(([key]) => key in filters);
  const address = (format: string) =>
    `/v1/exports/${name}?${new URLSearchParams([...given, ['format', format]]).toString()}`;
  return html`<span class="exports">Export: ${['csv', 'ndjson', 'json'].map((format) => html`<a href="${address(format)}">${format}</a> `)}</span>`;
}
