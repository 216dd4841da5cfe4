import { z } from 'zod';
import { isInstant } from '../values/index.ts';
import { listOf } from '../wire/record.ts';
import * as wire from '../wire/schemas.ts';
import { ControlPlaneError } from './errors.ts';
import { followPages, type Page, type RejectedRow } from './pagination.ts';
import type { Call, CallOptions, Reply } from './transport.ts';

// Created once: zod compiles each schema when it is first used.
const pageSchema = z.object({ pagination: wire.paginationSchema });
const unavailableSchema = z.object({ unavailable_project_ids: z.array(z.string()).nullish() });

type Request = Omit<CallOptions, 'method'>;
type ListRequest = Request & { query?: { limit?: number | undefined; cursor?: string | undefined } };
interface Shape<T> {
  /** The name of the list in its response. */
  list: string;
  item: z.ZodType<T>;
  /** If true, only the field types of an unreadable row are reported. */
  hasSecrets?: boolean;
}

/** Reads one record. Throws `invalid_response` for an unexpected shape. */
export async function fetchRecord<T>(call: Call, request: Request, schema: z.ZodType<T>): Promise<T> {
  return parse(schema, await call({ method: 'GET', ...request }), request.route);
}

export async function fetchPage<T>(call: Call, request: Request, shape: Shape<T>): Promise<Page<T>> {
  return readPage(await call({ method: 'GET', ...request }), request.route, shape);
}

/** Follows a list from the cursor of its request to its end. */
export function fetchPages<T>(call: Call, request: ListRequest, shape: Shape<T>): AsyncGenerator<Page<T>, void> {
  const { query } = request;
  return followPages((cursor) => fetchPage(call, { ...request, query: { ...query, cursor } }, shape), query?.cursor);
}

/**
 * The end of a page: its number of rows, the id of its last row, and the cursor of the next page. `lastId` is null without rows, or if that row
 * cannot be read.
 */
export interface PageEnd {
  count: number;
  lastId: string | null;
  cursor: string | null;
}

/** Returns the end of a page whose rows are not needed. Reads only the last row. */
export async function fetchPageEnd<T extends { id: string }>(
  call: Call,
  request: Request,
  shape: Shape<T>,
): Promise<PageEnd> {
  const reply = await call({ method: 'GET', ...request });
  const { items, cursor } = readPage(reply, request.route, { ...shape, item: z.unknown() });
  return { count: items.length, lastId: shape.item.safeParse(items.at(-1)).data?.id ?? null, cursor };
}

/** Reads a page. A list of keys is a bare array, which is the whole list, or an object with the list's name and perhaps a pagination. */
function readPage<T>(reply: Reply, route: string, shape: Shape<T>): Page<T> {
  const { list } = shape;
  const { json, length, dateMs, ageMs } = reply;
  const rest = { length, dateMs, ageMs };
  // Only keys are documented as a bare list. For other lists, an empty array would falsely mean that there are no rows.
  if (list === 'keys' && Array.isArray(json)) return { ...readRows(reply, route, shape), cursor: null, ...rest };
  const names = list === 'keys' ? ['keys', 'api_keys'] : [list];
  const found = typeof json === 'object' && json !== null ? names.find((name) => name in json) : undefined;
  if (found === undefined) throw invalid(reply, `${route} returned no list of ${list}`);
  const { pagination } = parse(pageSchema, reply, route);
  const rows = readRows({ ...reply, json: Reflect.get(Object(json), found) }, route, shape);
  const page = { ...rows, cursor: pagination, ...rest };
  if (list !== 'projects') return page;
  return { ...page, unavailableIds: parse(unavailableSchema, reply, route).unavailable_project_ids ?? [] };
}

/** Reads the rows of a list. Keeps unreadable rows apart and reads all others. */
function readRows<T>(reply: Reply, route: string, { item, hasSecrets }: Shape<T>): Pick<Page<T>, 'items' | 'rejected'> {
  const parsed = listOf(item).safeParse(reply.json);
  if (parsed.success) return { items: parsed.data };
  if (!Array.isArray(reply.json)) throw invalid(reply, `${route} returned no list`);
  const items: T[] = [];
  const rejected: RejectedRow[] = [];
  for (const [index, row] of reply.json.entries()) {
    const read = item.safeParse(row);
    if (read.success) items.push(read.data);
    else
      rejected.push({
        index,
        id: read.error.issues.some(({ path }) => path[0] === 'id') ? null : idOf(row),
        why: describe(read.error),
        ...timeOf(row),
        record: hasSecrets ? typesOf(row) : shapeOf(row),
      });
  }
  return { items, rejected };
}

function idOf(row: unknown): string | null {
  const id: unknown = typeof row === 'object' && row !== null ? Reflect.get(row, 'id') : null;
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null;
}

function timeOf(row: unknown): Pick<RejectedRow, 'createdAt'> {
  const at: unknown = typeof row === 'object' && row !== null ? Reflect.get(row, 'created_at') : null;
  return typeof at === 'string' && isInstant(at) ? { createdAt: at } : {};
}

const describe = ({ issues: [issue] }: z.ZodError) => `${issue?.path.join('.')} ${issue?.message}`.trim();

/** Fields whose values are not secret and help to explain what is wrong with a row. */
const plainName = /^(id|action|status|role|kind|type)$|_(id|at|ms|count)$/;
const longestValue = 100;

/** A row may be unreadable because it is nested so deep that following it to its end overflows the stack. */
const deepestShape = 10;

/** Returns the shape of an unexpected row, which may contain anything. Most fields are reduced to their type. */
function shapeOf(value: unknown, name = '', depth = 0): unknown {
  if (value === null) return null;
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'object' && depth < deepestShape)
    return Object.fromEntries(
      Object.entries(value).map(([field, inner]) => [field.slice(0, longestValue), shapeOf(inner, field, depth + 1)]),
    );
  if (typeof value === 'object') return 'object';
  const text = JSON.stringify(value);
  return plainName.test(name) && !text.includes('napi_') ? text.slice(0, longestValue) : typeof value;
}

function typesOf(row: unknown): unknown {
  if (typeof row !== 'object' || row === null) return typeof row;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name.slice(0, longestValue), typeof value]));
}

/** Parses a response. Throws `invalid_response`, whose message names the first problem. */
export function parse<T>(schema: z.ZodType<T>, reply: Reply, route: string): T {
  const parsed = schema.safeParse(reply.json);
  if (parsed.success) return parsed.data;
  throw invalid(reply, `${route} returned an unexpected shape: ${describe(parsed.error)}`);
}

/** Sends a write, and reads its response. Throws `outcome_unknown` for an unreadable response, because the write may have been done. */
export async function write<T>(call: Call, request: CallOptions, schema: z.ZodType<T>): Promise<T> {
  const { json, status, requestId } = await call(request);
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const message = `${request.route} returned an unexpected shape for a write`;
  throw new ControlPlaneError('outcome_unknown', message, { status, requestId });
}

function invalid({ status, requestId }: Reply, message: string): ControlPlaneError {
  return new ControlPlaneError('invalid_response', message, { status, requestId });
}
