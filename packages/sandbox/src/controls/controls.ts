import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { limitsSchema } from '../access/limits.ts';
import { advance } from '../engine/advance.ts';
import { generateCompany } from '../generate/company.ts';
import { companySchema } from '../generate/organizations.ts';
import { Refusal } from '../http/errors.ts';
import { columnsOf, int64 } from '../http/json.ts';
import { keyColumns } from '../resources/keys.ts';
import { settingsSchema, workSchema } from '../settings.ts';
import type { State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { formatIfSet, formatInstant, lastInstant, SECOND } from '../store/time.ts';
import { type Fault, faultsSchema } from './faults.ts';
import { addedOperationsSchema, addOperations, listTrueOperations } from './operations.ts';

const clockBody = z.strictObject({ advance_seconds: z.number().min(-1e9).max(1e10) });

/** Adds the sandbox's own controls: the settings that a test or a person changes, and the truth to compare an archive with. They return no secrets. */
export function controls(state: State, routes: ReadonlySet<string>): Hono {
  const app = new Hono();
  const { db, clock } = state;

  app.use(async (c, next) => {
    requireLocal(c);
    advance(state, clock.now());
    await next();
  });

  app.post('/generate', async (c) => c.json(generateCompany(state, await readBody(c, companySchema))));

  app.get('/clock', (c) => c.json({ now: formatInstant(clock.now()) }));
  app.post('/clock', async (c) => {
    const { advance_seconds: seconds } = await readBody(c, clockBody);
    if (clock.now() + seconds * SECOND > lastInstant) throw new Refusal(422, 'the clock stops at the year 2200');
    if (seconds < 0) setBack(state, -seconds);
    else clock.advance(seconds);
    advance(state, clock.now());
    return c.json({ now: formatInstant(clock.now()) });
  });

  app.put('/faults', async (c) => {
    const faults = await readBody(c, faultsSchema);
    for (const fault of faults) requireRoute(routes, fault);
    state.faults.set(faults);
    return c.json(faults);
  });

  const replaced = <Name extends 'limits' | 'work' | 'settings'>(name: Name, schema: z.ZodType<State[Name]>) =>
    app.put(`/${name}`, async (c) => {
      state[name] = await readBody(c, schema);
      return c.json<unknown>(state[name]);
    });
  replaced('limits', limitsSchema);
  replaced('work', workSchema);
  replaced('settings', settingsSchema);

  app.get('/stats', (c) => c.json(state.stats.read()));
  app.delete('/stats', (c) => {
    state.stats.reset();
    return c.json(state.stats.read());
  });

  app.get('/keys', (c) =>
    c.json(db.all(`select ${keyColumns} from api_key k order by k.id`, { seen: clock.now() }).map(renderTrueKey)),
  );

  app.post('/credentials/:token_id/use', (c) => {
    const id = c.req.param('token_id');
    const used = 'update credential set last_used_at = ? where token_id = ? and revoked_at is null';
    if (db.run(used, clock.now(), id) === 0) throw new Refusal(404, `there is no live credential ${id}`);
    return c.json({ token_id: id, last_used_at: formatInstant(clock.now()) });
  });

  app.get('/projects', (c) => {
    const rows = db.all(
      `select p.id, p.organization_id, p.deleted_at,
         (select count(*) from operation o where o.project_id = p.id) as operations
       from project p order by p.created_at, p.id`,
    );
    return c.json(rows.map((row) => ({ ...row, deleted_at: formatIfSet(row.deleted_at) })));
  });

  app.get('/operations', (c) => {
    const projectId = c.req.query('project_id');
    if (projectId === undefined) throw new Refusal(400, 'project_id is required');
    return c.json(listTrueOperations(state, { projectId, withTimes: c.req.query('with_times') === 'true' }));
  });
  app.post('/operations', async (c) => c.json(addOperations(state, await readBody(c, addedOperationsSchema))));

  return app;
}

/** Sets the clock back in a sandbox where nothing was ever generated; the administrator existed from the start. */
function setBack({ db, clock }: State, seconds: number): void {
  if (db.get('select 1 from organization limit 1') !== undefined)
    throw new Refusal(422, 'the clock can move back only while there is no company; start with another state file');
  clock.setBack(seconds);
  const now = clock.now();
  db.run('update user set created_at = min(created_at, ?)', now);
  db.run('update api_key set created_at = min(created_at, ?), last_used_at = null', now);
}

/** Refuses requests from another site's page in a browser on this machine: it must not change anything. */
function requireLocal(c: Context): void {
  const origin = c.req.header('origin');
  const hosts = [
    c.req.header('host') ?? '127.0.0.1',
    ...(origin === undefined ? [] : [origin.replace(/^\w+:\/\//, '')]),
  ];
  const isLocal = hosts.every((host) => /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(host));
  if (!isLocal) throw new Refusal(403, 'the controls accept requests from this machine only');
}

/** Refuses a fault that no request can match: it would make a test that cannot fail. */
function requireRoute(routes: ReadonlySet<string>, { method, path }: Pick<Fault, 'method' | 'path'>): void {
  const meets = [...routes].some((route) => {
    const [itsMethod, itsPath] = route.split(' ');
    return (method ?? itsMethod) === itsMethod && (path ?? itsPath) === itsPath;
  });
  if (!meets)
    throw new Refusal(
      422,
      `no route matches "${method ?? 'any method'} ${path ?? 'any path'}"; routes.txt lists the routes`,
    );
}

const renderTrueKey = (row: Row) => ({
  ...columnsOf(row, 'kind', 'organization_id', 'project_id', 'user_id', 'name'),
  ...columnsOf(row, 'created_at', 'last_used_at', 'revoked_at'),
  id: int64(String(row.id)),
});

async function readBody<T>(c: Context, schema: z.ZodType<T>): Promise<T> {
  const body: unknown = await c.req.json().catch(() => {
    throw new Refusal(400, 'the request body is not JSON');
  });
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new Refusal(422, z.prettifyError(parsed.error));
  return parsed.data;
}
