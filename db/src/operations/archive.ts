import { type SQL, sql } from 'drizzle-orm';
import { time } from '../item.ts';
import {
  objectText,
  type PageRequest,
  type Query,
  type Reader,
  readPage,
  readPageText,
  visible,
  when,
} from '../list.ts';

/** A record with the control plane's own column names. A null column was absent. `extra` has the additional fields, which take precedence. */
export type ArchivedRecord = Record<string, unknown> & { extra: Record<string, unknown> | null };

interface ArchivePage {
  records: ArchivedRecord[];
  next: string[] | null;
}

/** A filter of projects. */
interface ArchivedProjects {
  organizationId?: string | undefined;
  /** Only the project with this id. */
  id?: string | undefined;
  /** A part of the name or id, in any case. */
  search?: string | undefined;
  /** Projects that are gone, existing projects, or both. */
  state: 'gone' | 'there' | 'any';
  organizations: string[] | null;
  page: PageRequest;
}

/** Lists organizations as the archive serves them. */
export async function listArchivedOrganizations(
  db: Reader,
  { id, organizations, page }: { id?: string | undefined; organizations: string[] | null; page: PageRequest },
): Promise<ArchivePage> {
  const list: Query = {
    from: sql`keywarden.organization o`,
    item: { id: sql`o.id`, name: sql`o.name`, created_at: time(sql`o.created_at`), extra: sql`o.extra` },
    where: [when(id, (wanted) => sql`o.id = ${wanted}`), visible(sql`o.id`, organizations)],
    order: { 'o.id': 'text', 'o.control_plane_number': 'bigint' },
    direction: 'asc',
  };
  return parse(await readPage(db, list, page));
}

/** Lists projects as the archive serves them, youngest first. A project that is gone is marked as the control plane marks it. */
export async function listArchivedProjects(
  db: Reader,
  { organizationId, id, search, state, organizations, page }: ArchivedProjects,
): Promise<ArchivePage> {
  const list: Query = {
    from: sql`keywarden.project p`,
    item: {
      id: sql`p.id`,
      name: sql`p.name`,
      org_id: sql`p.organization_id`,
      owner_id: sql`p.owner_id`,
      region_id: sql`p.region_id`,
      pg_version: sql`p.pg_version`,
      created_at: time(sql`p.created_at`),
      updated_at: time(sql`p.updated_at`),
      deleted_at: time(sql`coalesce(p.deleted_at, p.gone_at)`),
      extra: sql`p.extra`,
    },
    where: [
      when(organizationId, (wanted) => sql`p.organization_id = ${wanted}`),
      when(id, (wanted) => sql`p.id = ${wanted}`),
      when(search, (part) => sql`(strpos(lower(p.name), lower(${part})) > 0 or strpos(p.id, lower(${part})) > 0)`),
      { any: undefined, gone: sql`p.gone_at is not null`, there: sql`p.gone_at is null` }[state],
      visible(sql`p.organization_id`, organizations),
    ],
    order: { 'p.created_at': 'timestamptz', 'p.number': 'bigint' },
    direction: 'desc',
  };
  return parse(await readPage(db, list, page));
}

/** A filter of a project's operations. */
interface ArchivedOperations {
  /** The project's number in the store, and its id at the control plane. */
  project: string;
  projectId: string;
  /** Only the operation with this id. */
  id?: string;
  /** Strictly before this instant, like the control plane's own cursors. */
  below?: string | null;
  page: PageRequest;
}

/** Returns a project's operations, newest first: the records' JSON separated by commas, without null fields. */
export async function listArchivedOperations(
  db: Reader,
  { project, projectId, id, below, page }: ArchivedOperations,
): Promise<{ records: string; next: string[] | null }> {
  const text = (column: SQL) => sql`to_json(${column})`;
  const instant = (column: SQL) => sql`replace(to_json(${column})::text, '+00:00', 'Z')`;
  const shown = objectText({
    id: sql`'"' || o.id || '"'`,
    project_id: sql`${JSON.stringify(projectId)}::text`,
    branch_id: { sparse: text(sql`o.branch_id`) },
    endpoint_id: { sparse: text(sql`o.endpoint_id`) },
    action: text(sql`o.action`),
    status: text(sql`o.status`),
    error: { sparse: text(sql`o.error`) },
    failures_count: sql`o.failures_count`,
    retry_at: { sparse: instant(sql`o.retry_at`) },
    created_at: instant(sql`o.created_at`),
    updated_at: instant(sql`o.updated_at`),
    total_duration_ms: { sparse: sql`o.total_duration_ms` },
  });
  const list: Query = {
    rows: sql`keywarden.operation o`,
    from: sql`cross join lateral (select ${shown} as text) s`,
    // The additional fields take precedence over the columns.
    item: sql`case when o.extra is null then s.text else (s.text::jsonb || o.extra)::text end`,
    where: [
      sql`o.project_number = ${project}::bigint`,
      when(id, (wanted) => sql`o.id = ${wanted}::uuid`),
      when(below, (at) => sql`o.created_at < ${at}::timestamptz`),
    ],
    order: {
      'o.created_at': 'timestamptz',
      // Operations of one time keep the order in which a page of the control plane showed them.
      'o.place': 'int',
      'o.id': 'uuid',
    },
    direction: 'desc',
  };
  const { items, next } = await readPageText(db, list, { ...page, after: await placeNow(db, project, page.after) });
  return { records: items, next };
}

/** Returns the current position of a page's last row. If the row has moved up since, its old position would skip rows that were not shown. */
async function placeNow(db: Reader, project: string, after: string[] | null): Promise<string[] | null> {
  const [at = '', place = '', id = ''] = after ?? [];
  if (after === null) return null;
  const [row] = await db.execute(sql`
    select place from keywarden.operation
    where project_number = ${project}::bigint and created_at = ${at}::timestamptz and id = ${id}::uuid`);
  return [at, row === undefined ? place : String(row.place), id];
}

function parse({ items, next }: Awaited<ReturnType<typeof readPage>>): ArchivePage {
  return { records: items.map((item) => JSON.parse(item) as ArchivedRecord), next };
}
