import { createRoute, type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import {
  type List,
  type Page,
  type PageRequest,
  type Principal,
  type Query,
  type Reader,
  readOne,
  readPage,
} from '@keywarden/db/report';
import type { Context, MiddlewareHandler } from 'hono';
import { permitted } from './access/pipeline.ts';
import type { Access } from './access/roles.ts';
import type { Env } from './environment.ts';
import { listOf, openCursor, pagingQuery, sealCursor } from './paging.ts';
import { notFound, Problem, problemSchema } from './problem.ts';

type Schema = z.ZodObject;

/** A route behind a token, as its OpenAPI description and its check of who may. */
export interface RouteOptions<P extends Schema, Q extends Schema, B extends z.ZodType> {
  method?: 'get' | 'post';
  path: string;
  summary: string;
  access: Access;
  params?: P;
  /** Strict: an unknown parameter is refused by its name. */
  query?: Q;
  body?: B;
  /** What a 200 answers: a schema is of JSON. Content types of streams are named instead. */
  response: z.ZodType | { contentTypes: string[] };
  /** What a success answers with. */
  status?: 200 | 201 | 202;
}

/** What a handler is given: everything that was asked, checked. */
interface Asking<P extends Schema, Q extends Schema, B extends z.ZodType> {
  c: Context<Env>;
  principal: Principal;
  /** Those that the principal may see; null: all. */
  organizations: string[] | null;
  params: z.output<P>;
  query: z.output<Q>;
  body: z.output<B>;
}

/** Answers with JSON, as a text or an object, or with an answer of its own. */
type Handler<P extends Schema, Q extends Schema, B extends z.ZodType> = (
  asking: Asking<P, Q, B>,
) => Response | string | object | Promise<Response | string | object>;

const json = { 'content-type': 'application/json' };

const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: problemSchema } },
});

const problems = {
  400: problem('A parameter is unknown or wrong'),
  401: problem('No token, or one that is not live'),
  403: problem('This token may not'),
  404: problem('There is none that this token may see'),
  409: problem('It is not in a state for that'),
  413: problem('The body is too long'),
  415: problem('The body is not JSON'),
  422: problem('What is asked cannot be done'),
  429: problem('Too many wrong tokens, or too much at once'),
  503: problem('The store does not answer, or not in time'),
};

/** Adds a route: its description, its check of who may, its validation and its handler. */
export function addRoute<
  P extends Schema = z.ZodObject,
  Q extends Schema = z.ZodObject,
  B extends z.ZodType = z.ZodUndefined,
>(app: OpenAPIHono<Env>, options: RouteOptions<P, Q, B>, handle: Handler<P, Q, B>): void {
  const { method = 'get', path, summary, access, params, query = z.strictObject({}), body, status = 200 } = options;
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
    responses: { [status]: { description: summary, content }, ...problems },
  };
  const route = createRoute({
    ...config,
    middleware: body === undefined ? [permitted(access)] : [permitted(access), requireJson],
  });
  // The library asks handlers for answers that it could type; ours are JSON that Postgres wrote, and tests hold them to their schemas.
  app.openapi(route, (async (c: Context<Env>) => {
    // What the schemas have checked; absent where there is none.
    const checked = (what: 'param' | 'query' | 'json'): unknown => c.req.valid(what as never);
    const answer = await handle({
      c,
      principal: c.get('principal'),
      organizations: c.get('principal').organizations,
      params: checked('param') as z.output<P>,
      query: checked('query') as z.output<Q>,
      body: checked('json') as z.output<B>,
    });
    if (answer instanceof Response) return answer;
    return c.body(typeof answer === 'string' ? answer : JSON.stringify(answer), status, json);
  }) as never);
}

const requireJson: MiddlewareHandler<Env> = async (c, next) => {
  if (!/^application\/json\b/i.test(c.req.header('content-type') ?? ''))
    throw new Problem(415, 'Not JSON', 'This takes a body of JSON; send it with Content-Type: application/json.');
  await next();
};

function inWords({ role, organizations }: Access): string {
  const spans = organizations === 'all' ? 'For tokens that see all organizations.' : 'Shows what the token may see.';
  return `Role ${role}. ${spans}`;
}

export interface ListOptions<S extends z.ZodObject, P extends Schema, Q extends z.ZodRawShape> {
  path: string;
  summary: string;
  access: Access;
  params?: P;
  /** The filters; paging comes to them. */
  filters?: Q;
  item: S;
  /** What stands beside the items, where something does. */
  more?: z.ZodRawShape;
}

/** A list of the store's, or one that is read in another way and pages by one number. */
interface Listing<S extends z.ZodObject> {
  list: List<S> | { order: { type: 'bigint' }[]; read: (page: PageRequest) => Promise<Page> };
  /** JSON that stands beside the items. */
  more?: object | undefined;
}

type ListAsking<P extends Schema, Q extends z.ZodRawShape> = Pick<
  Asking<P, z.ZodObject<Q>, z.ZodUndefined>,
  'params' | 'query' | 'principal' | 'organizations'
>;

/** Adds a route that answers a list: `{items, next_cursor}` and `Link: rel="next"`. */
export function addList<S extends z.ZodObject, Q extends z.ZodRawShape = z.ZodRawShape, P extends Schema = z.ZodObject>(
  app: OpenAPIHono<Env>,
  db: Reader,
  { filters, item, more, ...options }: ListOptions<S, P, Q>,
  listOfAsking: (asking: ListAsking<P, Q>) => Listing<S> | Promise<Listing<S>>,
): void {
  const query = z.strictObject({ ...filters, ...pagingQuery });
  addRoute(app, { ...options, query, response: listOf(item, more) }, async (asking) => {
    const { c } = asking;
    const asked = asking.query as z.output<z.ZodObject<Q>> & { limit: number; cursor?: string };
    const { list, more: beside = {} } = await listOfAsking({ ...asking, query: asked });
    const bound = { path: c.req.path, query: asked };
    const page = { limit: asked.limit, after: openCursor(bound, list) };
    const { items, next } = await ('read' in list ? list.read(page) : readPage(db, list, page));
    const cursor = next && sealCursor(bound, next);
    if (cursor !== null) c.header('link', `<${linkTo(c.req.url, cursor)}>; rel="next"`);
    const rest = JSON.stringify({ next_cursor: cursor, ...beside }).slice(1);
    return `{"items":[${items.join(',')}],${rest}`;
  });
}

function linkTo(address: string, cursor: string): string {
  const { pathname, searchParams } = new URL(address);
  searchParams.set('cursor', cursor);
  return `${pathname}?${searchParams.toString()}`;
}

/** The only item of a list, as JSON. Throws a Problem (404) for an empty one, with where there are others. */
export async function requireOne(db: Reader, list: Query, [what, where]: Missing): Promise<string> {
  const found = await readOne(db, list);
  if (found === undefined) throw notFound(what, where);
  return found;
}

/** The only item of a list. Throws a Problem as above. */
export async function requireItem<S extends z.ZodObject>(
  db: Reader,
  list: List<S>,
  missing: Missing,
): Promise<z.output<S>> {
  return list.schema.parse(JSON.parse(await requireOne(db, list, missing)));
}

/** What is not there, and where those that are are listed. */
export type Missing = [what: string, where: string];
