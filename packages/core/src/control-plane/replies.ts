import { z } from 'zod';
import { listOf } from '../wire/record.ts';
import * as wire from '../wire/schemas.ts';
import { ControlPlaneError } from './errors.ts';
import type { Page } from './pagination.ts';
import type { Call, CallOptions, Reply } from './transport.ts';

/** A page of projects; `unavailableIds` names those that the answer left out. */
export interface ProjectPage extends Page<wire.WireProject> {
  unavailableIds: string[];
}

// Made once: zod compiles each schema when it is first used.
const pageSchema = z.object({ pagination: wire.paginationSchema });
const unavailableSchema = z.object({ unavailable_project_ids: z.array(z.string()).nullish() });

type Request = Omit<CallOptions, 'method'>;
interface Shape<T> {
  /** The name of the list in its answer. */
  list: string;
  item: z.ZodType<T>;
}

export async function fetchPage<T>(call: Call, request: Request, shape: Shape<T>): Promise<Page<T>> {
  return readPage(await call({ method: 'GET', ...request }), request.route, shape);
}

/** Where a page ends: how many rows it has, the id of the last (null without rows), and the cursor of the next page. */
export interface PageEnd {
  count: number;
  lastId: string | null;
  cursor: string | null;
}

/** The same of a page whose rows are not needed: only the last is read. */
export async function fetchPageEnd<T extends { id: string }>(
  call: Call,
  request: Request,
  shape: Shape<T>,
): Promise<PageEnd> {
  const reply = await call({ method: 'GET', ...request });
  const { items, cursor } = readPage(reply, request.route, { ...shape, item: z.unknown() });
  const last = items.length === 0 ? null : parse(shape.item, { ...reply, json: items.at(-1) }, request.route);
  return { count: items.length, lastId: last?.id ?? null, cursor };
}

export async function fetchProjects(
  call: Call,
  {
    organizationId,
    cursor,
    limit,
    signal,
  }: { organizationId: string; cursor: string | undefined; limit: number; signal: AbortSignal | undefined },
): Promise<ProjectPage> {
  const route = '/projects';
  const reply = await call({ method: 'GET', route, query: { org_id: organizationId, limit, cursor }, signal });
  const unavailableIds = parse(unavailableSchema, reply, route).unavailable_project_ids ?? [];
  return { ...readPage(reply, route, { list: 'projects', item: wire.projectSchema }), unavailableIds };
}

/** Reads a page: of keys a bare array, which is the whole list, or an object with the list's name and perhaps a pagination. */
function readPage<T>(reply: Reply, route: string, { list, item }: Shape<T>): Page<T> {
  const { json, dateMs, ageMs } = reply;
  const rows = listOf(item);
  // Keys alone are documented as a bare list: elsewhere an empty one would say that nothing is there.
  if (list === 'keys' && Array.isArray(json)) return { items: parse(rows, reply, route), cursor: null, dateMs, ageMs };
  const found = typeof json === 'object' && json !== null ? [list, 'api_keys'].find((name) => name in json) : undefined;
  if (found === undefined) throw invalid(reply, `${route} answered without its list of ${list}`);
  const { pagination } = parse(pageSchema, reply, route);
  return {
    items: parse(rows, { ...reply, json: Reflect.get(Object(json), found) }, route),
    cursor: pagination,
    dateMs,
    ageMs,
  };
}

/** Checks an answer; `invalid_response` names what is wrong with it first. */
export function parse<T>(schema: z.ZodType<T>, reply: Reply, route: string): T {
  const parsed = schema.safeParse(reply.json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw invalid(reply, `${route} answered with another shape: ${issue?.path.join('.')} ${issue?.message}`);
}

/** The same for a write: an unreadable answer leaves its outcome open. */
export function parseWrite<T>(schema: z.ZodType<T>, { json, status, requestId }: Reply, route: string): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const message = `${route} answered a write with another shape`;
  throw new ControlPlaneError('outcome_unknown', message, { status, requestId });
}

function invalid({ status, requestId }: Reply, message: string): ControlPlaneError {
  return new ControlPlaneError('invalid_response', message, { status, requestId });
}
