import type { Context, Hono } from 'hono';
import { requireOrganization, requirePersonal } from '../access/rules.ts';
import { outsideProject, Refusal } from '../http/errors.ts';
import { readFlag, readLimit } from '../http/query.ts';
import { renderListedProject } from '../resources/projects.ts';
import type { Env } from '../state.ts';
import type { Row } from '../store/database.ts';
import { formatCursor } from '../store/time.ts';

export function projectListRoutes(api: Hono<Env>): void {
  api.get('/projects', (c) => {
    const organization = requireOrganization(c, organizationOf(c, c.req.query('org_id')));
    const condition = readFlag(c, 'recoverable') ? 'purge_at is not null' : 'deleted_at is null';
    const where = `organization_id = :organization and ${condition}`;
    const { rows, ...page } = readProjects(c, { where, values: { organization } });
    const served = c.get('partialProjects') ? rows.slice(0, Math.floor(rows.length / 2)) : rows;
    const left = rows.slice(served.length).map((row) => row.id);
    return c.json({
      projects: served.map(renderListedProject),
      ...(left.length > 0 ? { unavailable_project_ids: left } : {}),
      ...page,
      applications: {},
      integrations: {},
    });
  });

  /** Lists projects that were shared with the caller's address, in organizations that the caller is not a member of. */
  api.get('/projects/shared', (c) => {
    const { userId: user } = requirePersonal(c);
    const where = `deleted_at is null
      and id in (select s.project_id from permission s join user u on u.email = s.email where u.id = :user and s.revoked_at is null)
      and organization_id not in (select m.organization_id from member m where m.user_id = :user and m.left_at is null)`;
    const { rows, ...page } = readProjects(c, { where, values: { user } });
    return c.json({ projects: rows.map(renderListedProject), ...page });
  });
}

/** Returns the organization of a request. A personal key names it, and an organization key belongs to one; a project-scoped key acts for none. */
export function organizationOf(c: Context<Env>, named: string | undefined): string {
  const principal = c.get('principal');
  if (principal.kind === 'project') throw outsideProject(principal.projectId);
  if (named !== undefined) return named;
  if (principal.kind === 'organization') return principal.organizationId;
  throw new Refusal(400, 'org_id is required, you can find it on your organization settings page');
}

/** Reads one page, newest first. Its cursor is the id of the last row; under other settings it includes that row's time, and only full pages have one. */
function readProjects(
  c: Context<Env>,
  { where, values }: { where: string; values: Record<string, string> },
): { rows: Row[]; pagination?: { cursor: string } } {
  const { db, settings } = c.get('state');
  const limit = readLimit(c, { max: 400, fallback: 10 });
  const cursor = c.req.query('cursor');
  const id = cursor?.split('/').at(-1) ?? '';
  // A project that was deleted since still has its position.
  const known = cursor === undefined ? undefined : db.get('select created_at from project where id = ?', id);
  if (cursor !== undefined && known === undefined) throw new Refusal(400, 'invalid cursor');
  const before = known === undefined ? Number.MAX_SAFE_INTEGER : Number(known.created_at);
  const rows = db.all(
    `select * from project where ${where} and (created_at < :before or created_at = :before and id > :after)
       and (instr(lower(name), lower(:search)) > 0 or instr(id, lower(:search)) > 0)
     order by created_at desc, id limit :limit`,
    { ...values, before, after: id, search: c.req.query('search') ?? '', limit },
  );
  const last = rows.at(-1);
  const isRecorded = settings.pagination === 'every_page';
  if (last === undefined || !(isRecorded || rows.length === limit)) return { rows };
  const next = isRecorded ? String(last.id) : `${formatCursor(Number(last.created_at))}/${String(last.id)}`;
  return { rows, pagination: { cursor: next } };
}
