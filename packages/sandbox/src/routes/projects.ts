import type { Context, Hono } from 'hono';
import { requireOrganization, requireProject } from '../access/authenticate.ts';
import { outsideProject, Refusal } from '../http/errors.ts';
import { readLimit, readPath } from '../http/query.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { formatCursor, formatInstant, parseInstant } from '../store/time.ts';

export function projectRoutes(api: Hono<Env>, { db }: State): void {
  api.get('/projects', (c) => {
    const organizationId = organizationOf(c);
    requireOrganization(db, c.get('principal'), organizationId);
    const limit = readLimit(c, { max: 400, fallback: 10 });
    const rows = listProjects(db, { organizationId, cursor: c.req.query('cursor'), limit });
    const last = rows.at(-1);
    const served = c.get('partialProjects') ? rows.slice(0, Math.floor(rows.length / 2)) : rows;
    const left = rows.slice(served.length).map((row) => row.id);
    return c.json({
      projects: served.map(renderProject),
      ...(left.length > 0 ? { unavailable_project_ids: left } : {}),
      ...(rows.length === limit && last
        ? { pagination: { cursor: `${formatCursor(Number(last.created_at))}/${String(last.id)}` } }
        : {}),
      applications: {},
      integrations: {},
    });
  });

  api.get('/projects/:project_id', (c) => {
    const row = requireProject(db, c.get('principal'), readPath(c, 'project_id'));
    const consumption = {
      consumption_period_start: formatInstant(Number(row.created_at)),
      consumption_period_end: formatInstant(Number(row.updated_at)),
      active_time_seconds: row.cpu_used_sec,
      compute_time_seconds: row.cpu_used_sec,
      written_data_bytes: 0,
      data_transfer_bytes: 0,
      data_storage_bytes_hour: 0,
    };
    return c.json({ project: { ...renderProject(row), ...consumption } });
  });
}

/** A personal key names the organization; an organization key is of one. */
function organizationOf(c: Context<Env>): string {
  const principal = c.get('principal');
  if (principal.kind === 'project') throw outsideProject(principal.projectId);
  const named = c.req.query('org_id');
  if (named !== undefined) return named;
  if (principal.kind === 'organization') return principal.organizationId;
  throw new Refusal(400, 'org_id is required, you can find it on your organization settings page');
}

function listProjects(
  db: State['db'],
  { organizationId, cursor, limit }: { organizationId: string; cursor: string | undefined; limit: number },
): Row[] {
  const [instant = '', id = ''] = cursor?.split('/') ?? [];
  const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : parseInstant(instant);
  if (before === undefined) throw new Refusal(400, 'invalid cursor');
  return db.all(
    `select * from project where organization_id = ? and deleted_at is null
       and (created_at < ? or created_at = ? and id > ?)
     order by created_at desc, id limit ?`,
    organizationId,
    before,
    before,
    id,
    limit,
  );
}

function renderProject(row: Row): Record<string, unknown> {
  const region = String(row.region_id);
  return {
    id: row.id,
    name: row.name,
    org_id: row.organization_id,
    owner_id: row.owner_id,
    platform_id: region.split('-')[0],
    region_id: region,
    provisioner: 'k8s-neonvm',
    pg_version: row.pg_version,
    proxy_host: `${region.replace(/^\w+-/, '')}.db.example`,
    locked: false,
    store_passwords: true,
    active_time: row.cpu_used_sec,
    cpu_used_sec: row.cpu_used_sec,
    branch_logical_size_limit: 8192,
    branch_logical_size_limit_bytes: 8_589_934_592,
    history_retention_seconds: 86_400,
    creation_source: 'console',
    created_at: formatInstant(Number(row.created_at)),
    updated_at: formatInstant(Number(row.updated_at)),
  };
}
