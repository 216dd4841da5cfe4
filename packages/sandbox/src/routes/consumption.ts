import type { Context, Hono } from 'hono';
import { requireOrganization } from '../access/rules.ts';
import { Refusal } from '../http/errors.ts';
import { instantOf, readLimit, readList, readRequired } from '../http/query.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { bitsOf, createRandom, seedOf } from '../store/random.ts';
import { DAY, formatInstant, HOUR, type Micros } from '../store/time.ts';
import { organizationOf } from './project-list.ts';

const firstMetrics = [
  'active_time_seconds',
  'compute_time_seconds',
  'written_data_bytes',
  'synthetic_storage_size_bytes',
];
const projectMetrics = [...firstMetrics, 'data_storage_bytes_hour', 'logical_size_bytes', 'logical_size_bytes_hour'];
const branchMetrics = [
  'compute_unit_seconds',
  'root_branch_bytes_month',
  'child_branch_bytes_month',
  'instant_restore_bytes_month',
  'public_network_transfer_bytes',
  'private_network_transfer_bytes',
];
const usageMetrics = [...branchMetrics, 'extra_branches_month', 'snapshot_storage_bytes_month'];

interface ConsumptionQuery {
  organization: string;
  frames: Timeframe[];
  metrics: string[];
  now: Micros;
}

export function consumptionRoutes(api: Hono<Env>, { db }: State): void {
  api.get('/consumption_history/projects', (c) => {
    const request = readRequest(c, { allowed: projectMetrics, fallback: firstMetrics });
    const { rows, ...page } = readProjectPage(c, db, request.organization);
    const projects = rows.map((row) => ({
      project_id: row.id,
      periods: period(row, request, (frame) => ({
        // The four metrics of the first pricing models are always present.
        ...Object.fromEntries(firstMetrics.map((metric) => [metric, 0])),
        ...Object.fromEntries(
          request.metrics.map((metric) => [metric, used(row, metric, { frame, now: request.now })]),
        ),
      })),
    }));
    return c.json({ projects, ...page });
  });

  api.get('/consumption_history/v2/projects', (c) => {
    const request = readRequest(c, { allowed: usageMetrics, fallback: null });
    const { rows, ...page } = readProjectPage(c, db, request.organization);
    const projects = rows.map((row) => ({
      project_id: row.id,
      periods: period(row, request, metricsOf(row, request)),
    }));
    return c.json({ projects, ...page });
  });

  api.get('/consumption_history/v2/branches', (c) => {
    const request = readRequest(c, { allowed: branchMetrics, fallback: null });
    const { rows, ...page } = readBranchPage(c, db, request.organization);
    const branches = rows.map((row) => ({
      project_id: row.project_id,
      branch_id: row.id,
      periods: period(row, request, metricsOf(row, request)),
    }));
    return c.json({ branches, ...page });
  });
}

function readRequest(
  c: Context<Env>,
  { allowed, fallback }: { allowed: string[]; fallback: string[] | null },
): ConsumptionQuery {
  const organization = requireOrganization(c, organizationOf(c, c.req.query('org_id')));
  const granularity = readRequired(c, 'granularity');
  if (!isGranularity(granularity)) throw new Refusal(400, 'granularity must be hourly, daily or monthly');
  const from = instantOf(readRequired(c, 'from'), 'from');
  const to = instantOf(readRequired(c, 'to'), 'to');
  const now = c.get('state').clock.now();
  if (from >= to) throw new Refusal(400, 'from must be before to');
  // One month more, because the beginning is rounded down to the granularity.
  if (from < now - keptFor[granularity] - 31 * DAY)
    throw new Refusal(406, 'the from and to range lies outside the boundaries of the granularity');
  const frames = timeframes(granularity, { from, to: Math.min(to, now) });
  const metrics = readList(c, 'metrics');
  const wrong = metrics.find((metric) => !allowed.includes(metric));
  if (wrong !== undefined) throw new Refusal(400, `metrics: "${wrong}" is not one of ${allowed.join(', ')}`);
  if (metrics.length === 0 && fallback === null) throw new Refusal(400, 'parameter "metrics" in query is required');
  return { organization, frames, metrics: metrics.length === 0 ? (fallback ?? []) : metrics, now };
}

const isGranularity = (text: string): text is Granularity => Object.hasOwn(keptFor, text);

/** Reads one page of an organization's projects, newest first. The cursor is the id of the page's last row. */
function readProjectPage(c: Context, db: State['db'], organization: string) {
  const limit = readLimit(c, { max: 100, fallback: 10 });
  const after = db.get('select created_at, id from project where id = ?', c.req.query('cursor') ?? '');
  if (c.req.query('cursor') !== undefined && after === undefined) throw new Refusal(400, 'invalid cursor');
  const ids = readIds(c, 'project_ids');
  const rows = db.all(
    `select id, created_at from project where organization_id = :organization and deleted_at is null
       and (:ids is null or id in (select value from json_each(:ids)))
       and (:after_id is null or created_at < :after or created_at = :after and id > :after_id)
     order by created_at desc, id limit :limit`,
    { organization, ids, after: after?.created_at ?? null, after_id: after?.id ?? null, limit },
  );
  return { rows, ...pageOf(rows, limit, (row) => row.id) };
}

/** Reads one page of branches of the named projects, by project and branch; the cursor contains both. */
function readBranchPage(c: Context, db: State['db'], organization: string) {
  const limit = readLimit(c, { max: 1000, fallback: 100 });
  const projects = readIds(c, 'project_ids');
  if (projects === null) throw new Refusal(400, 'parameter "project_ids" in query is required');
  const [project = '', branch] = c.req.query('cursor')?.split('/') ?? ['', ''];
  if (branch === undefined) throw new Refusal(400, 'invalid cursor');
  const rows = db.all(
    `select b.id, b.project_id, b.created_at from branch b join project p on p.id = b.project_id
     where p.organization_id = :organization and p.deleted_at is null and b.deleted_at is null
       and p.id in (select value from json_each(:projects))
       and (:branches is null or b.id in (select value from json_each(:branches)))
       and (b.project_id > :project or b.project_id = :project and b.id > :branch)
     order by b.project_id, b.id limit :limit`,
    { organization, projects, branches: readIds(c, 'branch_ids'), project, branch, limit },
  );
  return { rows, ...pageOf(rows, limit, (row) => `${String(row.project_id)}/${String(row.id)}`) };
}

function readIds(c: Context, name: string): string | null {
  const ids = readList(c, name);
  if (ids.length > 100) throw new Refusal(400, `parameter "${name}" in query has an error: at most 100 ids`);
  return ids.length === 0 ? null : JSON.stringify(ids);
}

function pageOf(rows: Row[], limit: number, cursorOf: (row: Row) => unknown): { pagination?: { cursor: unknown } } {
  const last = rows.at(-1);
  return rows.length === limit && last !== undefined ? { pagination: { cursor: cursorOf(last) } } : {};
}

/** Returns one billing period that spans the whole requested time, its timeframes oldest first. */
function period(row: Row, { frames }: ConsumptionQuery, consumption: (frame: Timeframe) => object): object[] {
  const since = Number(row.created_at);
  const seen = frames.filter(({ end }) => end > since);
  if (seen.length === 0) return [];
  return [
    {
      period_id: createRandom(seedOf(String(row.id))).uuid(),
      period_plan: 'scale',
      period_start: formatInstant(since),
      consumption: seen.map((frame) => ({
        timeframe_start: formatInstant(frame.start),
        timeframe_end: formatInstant(frame.end),
        ...consumption(frame),
      })),
    },
  ];
}

function metricsOf(row: Row, { metrics, now }: ConsumptionQuery): (frame: Timeframe) => object {
  return (frame) => ({
    metrics: metrics.map((metric) => ({ metric_name: metric, value: used(row, metric, { frame, now }) })),
  });
}

type Granularity = 'hourly' | 'daily' | 'monthly';

/** How long each granularity is kept, as the API document states. */
const keptFor: Record<Granularity, Micros> = { hourly: 168 * HOUR, daily: 60 * DAY, monthly: 366 * DAY };
/** From the start of a timeframe, this long leads into the next one. */
const longest: Record<Granularity, Micros> = { hourly: HOUR, daily: DAY, monthly: 32 * DAY };

interface Timeframe {
  start: Micros;
  end: Micros;
}

/** Returns the timeframes that cover `from` to `to`, both rounded down to the granularity. The last one ends after `to` began. */
function timeframes(granularity: Granularity, { from, to }: { from: Micros; to: Micros }): Timeframe[] {
  const frames: Timeframe[] = [];
  for (let start = floorTo(from, granularity); start < to; ) {
    const end = floorTo(start + longest[granularity], granularity);
    frames.push({ start, end });
    start = end;
  }
  return frames;
}

/**
 * Returns the consumption of a project or branch in a timeframe. It is generated, but always equal for one of them, a metric and an hour, so that days
 * add up to months. It is zero before the creation and after `now`.
 */
function used(row: Row, metric: string, { frame, now }: { frame: Timeframe; now: Micros }): number {
  const start = Math.max(frame.start, Math.ceil(Number(row.created_at) / HOUR) * HOUR);
  const end = Math.min(frame.end, Math.floor(now / HOUR) * HOUR);
  const base = seedOf(`${String(row.id)} ${metric}`);
  const scale = metric.includes('bytes') ? 1_000_000 : 900;
  let total = 0;
  for (let hour = start; hour < end; hour += HOUR) total += bitsOf(base + hour / HOUR) % scale;
  return total;
}

function floorTo(at: Micros, granularity: Granularity): Micros {
  const date = new Date(at / 1000);
  if (granularity === 'monthly') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) * 1000;
  return at - (at % (granularity === 'daily' ? DAY : HOUR));
}
