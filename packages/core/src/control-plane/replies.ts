import { z } from 'zod';
import * as wire from '../wire/schemas.ts';
import { ControlPlaneError } from './errors.ts';
import type { Page } from './pagination.ts';
import type { Call, CallOptions, Reply } from './transport.ts';

/** A page of projects; `unavailableIds` names those that the answer left out. */
export interface ProjectPage extends Page<wire.WireProject> {
  unavailableIds: string[];
}

type Request = Omit<CallOptions, 'method'>;
interface Shape<T> {
  /** The name of the list in its answer. */
  list: string;
  item: z.ZodType<T>;
}

export async function fetchPage<T>(call: Call, request: Request, shape: Shape<T>): Promise<Page<T>> {
  return readPage(await call({ method: 'GET', ...request }), request.route, shape);
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
  const schema = z.object({ unavailable_project_ids: z.array(z.string()).optional() });
  const unavailableIds = parse(schema, reply.json, route).unavailable_project_ids ?? [];
  return { ...readPage(reply, route, { list: 'projects', item: wire.projectSchema }), unavailableIds };
}

/** Reads a page: a bare array, which is the whole list, or an object with the list's name and perhaps a pagination. */
function readPage<T>({ json, dateMs }: Reply, route: string, { list, item }: Shape<T>): Page<T> {
  if (Array.isArray(json)) return { items: parse(z.array(item), json, route), cursor: null, dateMs };
  if (typeof json !== 'object' || json === null) {
    throw new ControlPlaneError('invalid_response', `${route} answered with no list`);
  }
  const found = [list, 'api_keys'].find((name) => name in json);
  if (found === undefined) {
    throw new ControlPlaneError('invalid_response', `${route} answered without its list of ${list}`);
  }
  const { pagination } = parse(z.object({ pagination: wire.paginationSchema }), json, route);
  const items = parse(z.array(item), Reflect.get(json, found), route);
  return { items, cursor: pagination, dateMs };
}

/** Checks an answer; `invalid_response` names what is wrong with it first. */
export function parse<T>(schema: z.ZodType<T>, json: unknown, route: string): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const message = `${route} answered with another shape: ${issue?.path.join('.')} ${issue?.message}`;
  throw new ControlPlaneError('invalid_response', message);
}

/** The same for a write: an unreadable answer leaves its outcome open. */
export function parseWrite<T>(schema: z.ZodType<T>, json: unknown, route: string): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ControlPlaneError('outcome_unknown', `${route} answered a write with another shape`);
}
