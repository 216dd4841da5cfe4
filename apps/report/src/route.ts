import { createRoute, type RouteConfig, z } from '@hono/zod-openapi';
import * as store from '@keywarden/db/report';
import type { Context, MiddlewareHandler } from 'hono';
import { type Access, permitted } from './access/roles.ts';
import type { Report } from './dashboard/page.ts';
import { listAnswer, openCursor, pagingQuery, sealCursor } from './paging.ts';
import { camelled, type ListQuery, whySwapped } from './parameters.ts';
import { badParameter, notFound, Problem, problemSchema } from './problem.ts';
import type { Env } from './services.ts';

type Schema = z.ZodObject;

/** A route that requires a token: its OpenAPI description and its access check. */
export interface RouteOptions<P extends Schema, Q extends Schema, B extends z.ZodType> {
  method?: 'get' | 'post';
  path: string;
  summary: string;
  access: Access;
  params?: P;
  /** Strict: an unknown parameter is rejected, and the error names it. */
  query?: Q;
  body?: B;
  /** The body of a success: a schema for JSON, or the content types of a stream. */
  response: z.ZodType | { contentTypes: string[] };
  /** The status of a success. */
  status?: 200 | 201 | 202;
  handle: Handler<P, Q, B>;
}

/** What a handler receives: the validated request. */
interface RouteRequest<P extends Schema, Q extends Schema, B extends z.ZodType> {
  c: Context<Env>;
  principal: store.Principal;
  /** The organizations that the principal can see; null means all. */
  organizations: string[] | null;
  params: z.output<P>;
  query: z.output<Q>;
  body: z.output<B>;
}

/** Returns JSON, as a text or an object, or its own Response. */
type Handler<P extends Schema, Q extends Schema, B extends z.ZodType> = (
  request: RouteRequest<P, Q, B>,
) => Response | string | object | Promise<Response | string | object>;

const json = { 'content-type': 'application/json' };

const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: problemSchema } },
});

const problems = {
  400: problem('A parameter is unknown or invalid'),
  401: problem('The token is missing or invalid'),
  403: problem('The token lacks the required role or organizations'),
  404: problem('It does not exist, or the token cannot see it'),
  409: problem('Its state does not allow this'),
  413: problem('The body is too long'),
  415: problem('The body is not JSON'),
  422: problem('The request is valid but cannot be carried out'),
  429: problem('Too many wrong tokens from this network, or too many requests or exports of this token'),
  503: problem('The store does not answer in time, or the report is busy'),
};

/** Returns whether answers of a path have an ETag. Files need none; their last line has their hash. */
export const hasEtag = (path: string): boolean => !/^\/v1\/(exports|evidence)/.test(path);

/** Adds a route: its description, its access check, its validation and its handler. */
export function addRoute<
  P extends Schema = z.ZodObject,
  Q extends Schema = z.ZodObject,
  B extends z.ZodType = z.ZodUndefined,
>({ app }: Report, options: RouteOptions<P, Q, B>): void {
  const {
    handle,
    method = 'get',
    path,
    summary,
    access,
    params,
    query = z.strictObject({}),
    body,
    status = 200,
  } = options;
  const content =
    options.response instanceof z.ZodType
      ? { 'application/json': { schema: options.response } }
      : Object.fromEntries(
          options.response.contentTypes.map((type) => [type, { schema: z.string().openapi({ format: 'binary' }) }]),
        );
  const config: RouteConfig = {
    method,
    path,
    summary,
    description: inWords(access),
    security: [{ token: [] }],
    request: {
      query,
      ...(params === undefined ? {} : { params }),
      ...(body === undefined ? {} : { body: { required: true, content: { 'application/json': { schema: body } } } }),
    },
    responses: {
      [status]: { description: summary, content },
      ...(method === 'get' && hasEtag(path)
        ? { 304: { description: 'It has not changed since the answer with the ETag in If-None-Match' } }
        : {}),
      ...problems,
      ...(method === 'post' && {
        500: problem(
          'It failed. With the title May have been done: look whether it was recorded before you send it again',
        ),
      }),
    },
  };
  const route = createRoute({
    ...config,
    middleware: body === undefined ? [permitted(access)] : [permitted(access), requireJson],
  });
  // The library wants typed answers from handlers. Ours are JSON texts that Postgres wrote; tests check them against their schemas.
  app.openapi(route, (async (c: Context<Env>) => {
    // The validated values; undefined if the route has no schema for them.
    const checked = (what: 'param' | 'query' | 'json'): unknown => c.req.valid(what as never);
    const query = checked('query') as z.output<Q>;
    const swapped = whySwapped(query);
    if (swapped !== undefined) throw badParameter(`${swapped}.`);
    const answer = await handle({
      c,
      principal: c.get('principal'),
      organizations: c.get('principal').organizations,
      params: checked('param') as z.output<P>,
      query,
      body: checked('json') as z.output<B>,
    });
    if (answer instanceof Response) return answer;
    return c.body(typeof answer === 'string' ? answer : JSON.stringify(answer), status, json);
  }) as never);
}

const requireJson: MiddlewareHandler<Env> = async (c, next) => {
  const [type = ''] = (c.req.header('content-type') ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json')
    throw new Problem(415, 'Not JSON', 'The body must be JSON; send it with Content-Type: application/json.');
  // The library does not know every form of its parameters, and would read no body.
  c.req.raw.headers.set('content-type', 'application/json');
  await next();
};

function inWords({ role, organizations }: Access): string {
  const spans = organizations === 'all' ? 'For tokens that see all organizations.' : 'Shows what the token can see.';
  return `Role ${role}. ${spans}`;
}

export interface ListOptions<S extends z.ZodObject, P extends Schema, F extends z.ZodRawShape, O extends string> {
  path: string;
  summary: string;
  access: Access;
  params?: P;
  /** The filters; the parameters of sorting and paging are added to them. */
  filters?: F;
  sorts?: readonly [O, ...O[]] | undefined;
  item: S;
  list: (request: ListRequest<P, F, O>) => Listing<S> | Promise<Listing<S>>;
  /** Further fields beside `items`, if any. */
  more?: { shape: z.ZodRawShape; read: (request: ListRequest<P, F, O>) => Promise<object | undefined> } | undefined;
}

/** A list of the store, or one with its own reader that pages by one number. */
type Listing<S extends z.ZodObject> =
  | store.List<S>
  | { order: { number: 'bigint' }; edition?: undefined; read: (page: store.PageRequest) => Promise<store.Page> };

type ListRequest<P extends Schema, F extends z.ZodRawShape, O extends string> = ListQuery<F, O> & {
  params: z.output<P>;
};

/** Adds a route that returns a list: `{items, next_cursor}` and `Link: rel="next"`. */
export function addList<
  S extends z.ZodObject,
  F extends z.ZodRawShape = z.ZodRawShape,
  P extends Schema = z.ZodObject,
  O extends string = never,
>(report: Report, { filters, sorts, item, list, more, ...options }: ListOptions<S, P, F, O>): void {
  const { db } = report;
  const sorting = sorts && { sort: z.enum(sorts).default(sorts[0]), order: z.enum(['asc', 'desc']).default('asc') };
  const query = z.strictObject({ ...filters, ...sorting, ...pagingQuery });
  const handle: Handler<P, typeof query, z.ZodUndefined> = async ({ c, organizations, params, query: given }) => {
    const {
      limit,
      cursor: _cursor,
      sort,
      order: direction,
      ...filtered
    } = given as z.output<z.ZodObject<F>> & { limit: number; cursor?: string; sort?: O; order?: 'asc' | 'desc' };
    const request = { db, params, query: camelled(filtered) as ListQuery<F>['query'], organizations, sort, direction };
    const found = await list(request);
    const beside = await more?.read(request);
    const bound = { path: c.req.path, query: given };
    const page = { limit, after: openCursor(bound, found) };
    const { items, next } = await ('read' in found ? found.read(page) : store.readPage(db, found, page));
    const cursor = next && sealCursor(bound, found, next);
    if (cursor !== null) c.header('link', `<${linkTo(c.req.url, cursor)}>; rel="next"`);
    const fields = JSON.stringify({ next_cursor: cursor, ...beside }).slice(1);
    return `{"items":[${items.join(',')}],${fields}`;
  };
  addRoute(report, { ...options, query, response: listAnswer(item, more?.shape), handle });
}

function linkTo(address: string, cursor: string): string {
  const { pathname, searchParams } = new URL(address);
  searchParams.set('cursor', cursor);
  return `${pathname}?${searchParams.toString()}`;
}

/** Returns the only item of a list, as JSON. Throws a Problem (404) for an empty list; the problem names the list to look in. */
export async function requireOne(db: store.Reader, list: store.Query, [what, where]: Missing): Promise<string> {
  const found = await store.readOne(db, list);
  if (found === undefined) throw notFound(what, where);
  return found;
}

/** Returns the only item of a list. Throws a Problem (404) like `requireOne`. */
export async function requireItem<S extends z.ZodObject>(
  db: store.Reader,
  list: store.List<S>,
  missing: Missing,
): Promise<z.output<S>> {
  return list.schema.parse(JSON.parse(await requireOne(db, list, missing)));
}

/** What is missing, and the path that lists the existing ones. */
export type Missing = [what: string, where: string];
