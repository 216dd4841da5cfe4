import { randomUUID } from 'node:crypto';
import { findArchivedProject, listArchivedOperations, listArchivedProjects, type Position } from '@keywarden/db/read';
import { type Context, Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { z } from 'zod';
import { findPrincipal } from '../authenticate.ts';
import type { Dependencies, Env } from '../environment.ts';

/** An error in the control plane's own shape. */
class Refusal extends HTTPException {}

/**
 * The archive in the control plane's own shapes, so that a client of it reads what it has pruned by another base URL alone. A
 * cursor is the time and id of a page's last row, so that rows of one time are not lost; a bare time is taken as the control
 * plane takes it.
 */
export function archiveRoutes({ db, log }: Dependencies): Hono<Env> {
  const api = new Hono<Env>();

  api.use(async (c, next) => {
    const principal = await findPrincipal(c, db);
    if (principal === undefined) throw new Refusal(401, { message: 'supplied credentials do not pass authentication' });
    c.set('principal', principal);
    await next();
  });

  api.get('/projects', async (c) => {
    const limit = readLimit(c, { max: 400, fallback: 10 });
    const { organizations } = c.get('principal');
    const cursor = c.req.query('cursor');
    const after = cursor === undefined ? null : splitCursor(cursor, /^\d{1,18}$/);
    const rows = await listArchivedProjects(db, {
      organizationId: c.req.query('org_id'),
      organizations,
      page: { limit, after },
    });
    const last = rows.at(-1);
    const next = rows.length === limit && last ? { pagination: { cursor: `${last.createdAt}_${last.number}` } } : {};
    return c.json({ projects: rows.map(renderProject), ...next, applications: {}, integrations: {} });
  });

  api.get('/projects/:project_id/operations', async (c) => {
    const limit = readLimit(c, { max: 1000, fallback: 100 });
    const { organizations } = c.get('principal');
    const project = await findArchivedProject(db, { id: c.req.param('project_id'), organizations });
    if (project === undefined) throw new Refusal(404, { message: 'project not found' });
    const cursor = c.req.query('cursor');
    const isBare = cursor !== undefined && isInstant(cursor);
    const after = cursor === undefined || isBare ? null : splitCursor(cursor, /^[0-9a-f-]{36}$/);
    const rows = await listArchivedOperations(db, {
      project: project.number,
      after,
      below: isBare ? cursor : null,
      limit,
    });
    const last = rows.at(-1);
    const next = rows.length === limit && last ? { pagination: { cursor: `${last.createdAt}_${last.id}` } } : {};
    return c.json({ operations: rows.map((row) => renderOperation(row, project.id)), ...next });
  });

  api.notFound((c) => renderError(c, 404, 'this route does not exist'));
  api.onError((error, c) => {
    if (error instanceof Refusal) return renderError(c, error.status, error.message);
    log.error({ err: error, request: c.get('requestId') }, 'a request of the archive failed');
    return renderError(c, 500, 'internal error');
  });
  return api;
}

function renderError(c: Context, status: HTTPException['status'], message: string) {
  return c.body(JSON.stringify({ request_id: c.get('requestId') ?? randomUUID(), code: '', message }), status, {
    'content-type': 'application/json',
  });
}

function readLimit(c: Context, { max, fallback }: { max: number; fallback: number }): number {
  const text = c.req.query('limit');
  if (text === undefined) return fallback;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= max) return limit;
  throw new Refusal(400, { message: `parameter "limit" in query has an error: number must be from 1 to ${max}` });
}

function splitCursor(cursor: string, id: RegExp): Position {
  const cut = cursor.lastIndexOf('_');
  const [instant, last] = [cursor.slice(0, cut), cursor.slice(cut + 1)];
  if (cut > 0 && isInstant(instant) && id.test(last)) return [instant, last];
  throw new Refusal(400, { message: 'invalid cursor' });
}

const isInstant = (text: string) => z.iso.datetime({ offset: true }).safeParse(text).success;

/** Columns as the control plane names them, without those that are null; what came beside them stands over them. */
function render(columns: Record<string, unknown>, extra: Record<string, unknown> | null): Record<string, unknown> {
  return { ...Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== null)), ...extra };
}

function renderProject(row: Awaited<ReturnType<typeof listArchivedProjects>>[number]): Record<string, unknown> {
  const columns = {
    id: row.id,
    name: row.name,
    org_id: row.organizationId,
    owner_id: row.ownerId,
    region_id: row.regionId,
    pg_version: row.pgVersion,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  };
  return render(columns, row.extra);
}

function renderOperation(
  row: Awaited<ReturnType<typeof listArchivedOperations>>[number],
  projectId: string,
): Record<string, unknown> {
  const columns = {
    id: row.id,
    project_id: projectId,
    branch_id: row.branchId,
    endpoint_id: row.endpointId,
    action: row.action,
    status: row.status,
    error: row.error,
    failures_count: row.failuresCount,
    retry_at: row.retryAt,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
    total_duration_ms: row.totalDurationMs,
  };
  return render(columns, row.extra);
}
