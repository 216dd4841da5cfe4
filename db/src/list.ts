import { and, is, SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { columnsOf, type Fields } from './item.ts';
import { type ListRow, mergeOrdered, type Order, type Position } from './merge.ts';
import { builderRunning, type Db, type Run, readNumber, toStatement } from './sql.ts';

export type { Position };

/** The source of reads: the store, or a snapshot of it. `execute` is for what the query builder cannot say. */
export interface Reader extends Pick<Db, 'select' | 'selectDistinct'> {
  execute(statement: SQL): PromiseLike<Record<string, unknown>[]>;
  /** Returns whether operations are distributed over several nodes. Absent where nothing asks. */
  isCluster?(): Promise<boolean>;
}

export interface PageRequest {
  limit: number;
  after: Position | null;
}

/** A query that returns rows of JSON, in an order whose last column is unique. */
export interface Query extends Order {
  /** The tables and their joins; only the joins if `rows` is given. */
  from: SQL;
  /** Rows that a cluster may keep on other nodes, with the alias o; `where` and `order` cut them to the page that the rest reads. */
  rows?: SQL;
  /** The same query in parts, each of one node of a cluster, read separately and merged: no node collects all rows first. */
  parts?: Query[];
  /** The fields of an item by name, in order. For lists that are read by the thousand, its JSON as text. */
  item: Record<string, SQL> | SQL;
  where: (SQL | undefined)[];
  /** What the rows are of, where the filters alone do not say it. A cursor of another edition would skip rows or show them again. */
  edition?: string | undefined;
}

/** A query whose items have a schema, from which routes, pages, exports and evidence are derived. Postgres writes their JSON. */
export interface List<S extends z.ZodObject = z.ZodObject> extends Query {
  schema: S;
  item: Fields<S>;
}

/**
 * Returns a list of rows that have the alias `row`. A field is the column of its name unless `item` has another expression for it. Without an order, the rows
 * with the highest numbers come first.
 */
export function listOf<S extends z.ZodObject>(
  schema: S,
  row: string,
  { item, ...query }: Partial<Omit<Query, 'item'>> & { from: SQL; item?: Partial<Fields<S>> },
): List<S> {
  const newestFirst = { order: { [`${row}.number`]: 'bigint' }, direction: 'desc' } as const;
  return { schema, where: [], ...newestFirst, ...query, item: { ...columnsOf(schema, row), ...item } };
}

/** A page of a list: its items as JSON texts, and the position of the next page if there is one. */
export interface Page {
  items: string[];
  next: Position | null;
}

/** Returns one page. A single row comparison selects it, which an index serves at any depth. One extra row shows whether a next page exists. */
export async function readPage(db: Reader, list: Query, { limit, after }: PageRequest): Promise<Page> {
  const rows = await readRows(db, list, { limit: limit + 1, after });
  const shown = rows.slice(0, limit);
  return {
    items: shown.map(({ item }) => item),
    next: rows.length > limit ? (shown.at(-1)?.at ?? null) : null,
  };
}

/** Returns the first rows after a position. */
async function readRows(db: Reader, list: Query, request: PageRequest): Promise<ListRow[]> {
  if (list.parts === undefined) return (await db.execute(select(list, request))).map((row) => toListRow(list, row));
  // Most pages need about as many rows of each part.
  const share = Math.ceil(request.limit / list.parts.length) + 1;
  const pulls = list.parts.map((part) => pullPages(db, part, { after: request.after, first: share, limit: share }));
  const rows: ListRow[] = [];
  for await (const merged of mergeOrdered(pulls, list)) {
    rows.push(...merged);
    if (rows.length >= request.limit) break;
  }
  return rows.slice(0, request.limit);
}

/** Returns a function that reads the next rows of a list, each time after the last row that it returned: first `first` rows, then `limit` at a time. */
export function pullPages(
  db: Reader,
  list: Query,
  { first, limit, after }: PageRequest & { first: number },
): () => Promise<ListRow[]> {
  let at = after;
  let size = first;
  let isEnd = false;
  return async () => {
    if (isEnd) return [];
    const rows = (await db.execute(select(list, { limit: size, after: at }))).map((row) => toListRow(list, row));
    isEnd = rows.length < size;
    at = rows.at(-1)?.at ?? at;
    size = limit;
    return rows;
  };
}

function toListRow({ order }: Query, row: Record<string, unknown>): ListRow {
  return { item: String(row.item), at: positionNames(order).map((name) => String(row[name])) };
}

/** Returns the names of the columns in which a statement has the position of a row. */
const positionNames = (order: Query['order']) => Object.keys(order).map((_column, index) => `at${index}`);

/** Returns the same page with its items as one text, separated by commas: a page of a thousand costs little more than writing it. */
export async function readPageText(
  db: Reader,
  list: Query,
  { limit, after }: PageRequest,
): Promise<{ items: string; next: Position | null }> {
  const names = positionNames(list.order);
  const places = names.map((name) => sql.identifier(name));
  const lasts = places.map((place) => sql`(array_agg(${place}) filter (where row = ${limit}))[1]::text as ${place}`);
  const [row] = await db.execute(sql`
    select string_agg(item, ',') filter (where row <= ${limit}) as items, count(*)::int as rows, ${sql.join(lasts, sql`, `)}
    from (select *, row_number() over () as row from (${select(list, { limit: limit + 1, after, asText: false })}) listed) numbered`);
  const next = Number(row?.rows) > limit ? names.map((name) => String(row?.[name])) : null;
  return { items: typeof row?.items === 'string' ? row.items : '', next };
}

/** Counts the items of a list, without making them; with `most`, up to that number. */
export async function countItems(db: Reader, list: Query, most: number | null = null): Promise<number> {
  const rows = select({ ...list, item: sql`null` }, { limit: most });
  return await readNumber(db.execute(sql`select count(*)::int as n from (${rows}) counted`));
}

/** Returns the first item of a list as its JSON text. */
export async function readOne(db: Reader, list: Query): Promise<string | undefined> {
  return (await readPage(db, list, { limit: 1, after: null })).items[0];
}

/** Returns the first items of a list. */
export async function readItems<S extends z.ZodObject>(
  db: Reader,
  list: List<S>,
  limit: number,
): Promise<z.output<S>[]> {
  const { items } = await readPage(db, list, { limit, after: null });
  return items.map((item) => list.schema.parse(JSON.parse(item)));
}

/** Returns the reads of the query builder, and those of SQL, over a function that runs statements. */
export function readerOf(run: Run): Reader {
  const db = builderRunning(run);
  return {
    select: db.select.bind(db),
    selectDistinct: db.selectDistinct.bind(db),
    async execute(statement) {
      const { text, params } = toStatement(statement);
      // Without the builder, rows are objects.
      return (await run(text, params, false)) as Record<string, unknown>[];
    },
  };
}

/** How many items a page has: in the dashboard, by default in the API, and at most. */
export const pageSizes = { dashboard: 50, usual: 100, most: 1000 };

/**
 * The limits of these pages, which read one row more than they show. They stand in the statement, so that Postgres knows how few rows it makes, and plans a
 * prepared statement once: with a parameter, it expects a tenth of all rows, and plans each page anew. Other limits are parameters, because only so many
 * statements are prepared.
 */
const usualLimits = Object.values(pageSizes).map((size) => size + 1);

/** Returns a list as one statement; each row has its `item`, and its position as `at0`, `at1` ... Without a limit it has all rows. */
export function select(
  { from, rows, item, where, order, direction }: Query,
  {
    limit = null,
    after = null,
    asText = true,
  }: { limit?: number | null; after?: Position | null; asText?: boolean } = {},
): SQL {
  const cast = asText ? sql`::text` : sql``;
  const by = Object.keys(order).map((column) => sql.raw(column));
  const positions = by.map((column, index) => sql`(${column})${cast} as ${sql.identifier(`at${index}`)}`);
  const json = is(item, SQL) ? item : sql`row_to_json(_item)::text`;
  const columns = is(item, SQL)
    ? []
    : Object.entries(item).map(([name, value]) => sql`${value} as ${sql.identifier(name)}`);
  const turn = sql.raw(direction);
  const turned = by.map((column) => sql`${column} ${turn}`);
  const ordered = sql`order by ${sql.join(turned, sql`, `)}`;
  const most = limit === null ? sql`` : sql`limit ${usualLimits.includes(limit) ? sql.raw(String(limit)) : limit}`;
  const page = sql`where ${and(...where, afterPosition({ order, direction }, after)) ?? sql`true`} ${ordered} ${most}`;
  return sql`select ${sql.join(positions, sql`, `)}, ${json} as item
    from ${rows === undefined ? sql`` : sql`(select o.* from ${rows} ${page}) o`} ${from}
      ${columns.length === 0 ? sql`` : sql`cross join lateral (select ${sql.join(columns, sql`, `)}) _item`}
    ${rows === undefined ? page : ordered}`;
}

function afterPosition({ order, direction }: Order, after: Position | null): SQL | undefined {
  if (after === null) return undefined;
  const left = sql.raw(Object.keys(order).join(', '));
  const values = Object.values(order).map((type, index) => sql`${after[index]}::${sql.raw(type)}`);
  return sql`(${left}) ${sql.raw(direction === 'asc' ? '>' : '<')} (${sql.join(values, sql`, `)})`;
}

/**
 * Returns the SQL of a JSON object as text, with its fields in order. A `sparse` field is left out if it is null. The first field is not
 * sparse, and no other field is null.
 */
export function objectText(fields: Record<string, SQL | { sparse: SQL }>): SQL {
  const texts = Object.entries(fields).map(([name, value], index) => {
    const opening = sql.raw(`'${index === 0 ? '{' : ','}"${name}":'`);
    return 'sparse' in value ? sql`coalesce(${opening} || ${value.sparse}, '')` : sql`${opening} || ${value}`;
  });
  return sql`${sql.join(texts, sql` || `)} || '}'`;
}

/** Returns a condition if a filter is given, otherwise undefined. */
export function when<T>(given: T | undefined | null, test: (value: T) => SQL | undefined): SQL | undefined {
  return given === undefined || given === null ? undefined : test(given);
}

/** Returns the condition that a column contains a text, in any case. Wildcards count as plain characters. */
export const contains = (column: SQL, text: string): SQL =>
  sql`${column} ilike ${`%${text.replace(/[\\%_]/g, '\\$&')}%`}`;

/** Converts a list of texts to a Postgres array. */
const texts = (values: string[]): SQL => sql`${sql.param(values)}::text[]`;

/** Returns the condition that a row belongs to the organizations visible to the caller; null means all. */
export const visible = (organizationId: SQL, organizations: string[] | null): SQL =>
  organizations === null ? sql`true` : sql`${organizationId} = any(${texts(organizations)})`;

/** What a list can be filtered by: for each name, the condition that a value makes. */
type Filters = Record<string, (value: never) => SQL | undefined>;

/** The values that a list is filtered by. A filter without a value leaves nothing out. */
export type FilterOf<F extends Filters> = { [K in keyof F]?: Parameters<F[K]>[0] | undefined };

/** Returns the conditions of the filters that have a value. */
export function matching<F extends Filters>(filters: F, given: FilterOf<F>): (SQL | undefined)[] {
  return Object.entries(filters).map(([name, test]) => when(given[name], test));
}

/** The filter that a column has a text. */
export const equals = (column: string) => (value: string) => sql`${sql.raw(column)} = ${value}`;

/** The filter that a column has the number of a row. */
export const isNumber = (column: string) => (number: string) => sql`${sql.raw(column)} = ${number}::bigint`;

/** The filters that a time is at or after one instant, and before another. */
export const within = (column: SQL) => ({
  from: (at: string) => sql`${column} >= ${at}::timestamptz`,
  to: (at: string) => sql`${column} < ${at}::timestamptz`,
});
