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

/** Columns that the control plane names so too; one that is null was not there. `extra` came beside them, and stands over them. */
export type ArchivedRecord = Record<string, unknown> & { extra: Record<string, unknown> | null };

interface ArchivePage {
  records: ArchivedRecord[];
  next: string[] | null;
}

/** Which projects are asked for. */
export interface ArchivedProjects {
  organizationId?: string | undefined;
  /** Only the one of this id. */
  id?: string | undefined;
  /** A part of their name or id, in whatever case. */
  search?: string | undefined;
  /** Those that are gone, those that are there, or both. */
  state: 'gone' | 'there' | 'any';
  organizations: string[] | null;
  page: PageRequest;
}

/** Organizations as the archive serves them. */
export async function listArchivedOrganizations(
  db: Reader,
  { id, organizations, page }: { id?: string | undefined; organizations: string[] | null; page: PageRequest },
): Promise<ArchivePage> {
  const list: Query = {
    from: sql`keywarden.organization o`,
    item: { id: sql`o.id`, name: sql`o.name`, created_at: time(sql`o.created_at`), extra: sql`o.extra` },
    where: [when(id, (wanted) => sql`o.id = ${wanted}`), visible(sql`o.id`, organizations)],
    order: [
      { by: sql`o.id`, type: 'text' },
      { by: sql`o.control_plane_number`, type: 'bigint' },
    ],
    direction: 'asc',
  };
  return parse(await readPage(db, list, page));
}

/** Projects as the archive serves them, youngest first. One that is gone says so as the control plane does. */
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
    order: [
      { by: sql`p.created_at`, type: 'timestamptz' },
      { by: sql`p.number`, type: 'bigint' },
    ],
    direction: 'desc',
  };
  return parse(await readPage(db, list, page));
}

/** What is asked of a project's operations. */
export interface ArchivedOperations {
  /** The store's number of the project, and the id that it has at the control plane. */
  project: string;
  projectId: string;
  /** Only the one of this id. */
  id?: string;
  /** Strictly below this instant, as the control plane's own cursors have it. */
  below?: string | null;
  page: PageRequest;
}

/** A project's operations, newest first: the records' JSON with commas between, without fields that are null. */
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
    // What came beside the columns stands over them.
    item: sql`case when o.extra is null then s.text else (s.text::jsonb || o.extra)::text end`,
    where: [
      sql`o.project_number = ${project}::bigint`,
      when(id, (wanted) => sql`o.id = ${wanted}::uuid`),
      when(below, (at) => sql`o.created_at < ${at}::timestamptz`),
    ],
    order: [
      { by: sql`o.created_at`, type: 'timestamptz' },
      // As the control plane shows those of one time, where a page showed them.
      { by: sql`o.place`, type: 'int' },
      { by: sql`o.id`, type: 'uuid' },
    ],
    direction: 'desc',
  };
  const { items, next } = await readPageText(db, list, { ...page, after: await placeNow(db, project, page.after) });
  return { records: items, next };
}

/** The place of a row that a page ended with, as it is now: one that has gone up since leads past rows that were not shown. */
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
