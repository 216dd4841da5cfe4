import { listNodes } from '../cluster.ts';
import { syncRunKinds } from '../schema/runs.ts';
import type { Sql } from '../sql.ts';

/** One metric value with the labels that identify it. */
export interface Gauge {
  name: GaugeName;
  labels: Record<string, string>;
  value: number;
}

/**
 * The metrics and their meanings. Times are the database's; those of coverage are the control plane's. An end that the database's clock wrote while it was
 * ahead does not count: nothing would be late before that time.
 */
export const gauges = {
  keywarden_store_node_up: 'Whether each node of the store’s cluster answers its coordinator; absent on one server',
  keywarden_sync_age_seconds:
    'Time since the last finished pass of each kind through each connection; without one, since the first pass of any kind',
  keywarden_operations_unknown_age_seconds:
    'Age of the oldest gap in the coverage of a connection’s projects that the control plane can still fill',
  keywarden_operations_known_ratio:
    'Share of the time since its projects were created for which a connection’s archive has every operation',
  keywarden_projects: 'Projects of a connection by whether they were ever walked whole',
  keywarden_keys: 'Keys by kind and state',
  keywarden_credentials: 'Other credentials by kind and state',
  keywarden_findings: 'Findings of the newest plan by rule and disposition',
  keywarden_revocations: 'Revocations by outcome, including open ones',
  keywarden_rotations: 'Rotations by state',
  keywarden_incidents_open: 'Open incidents by kind',
  keywarden_paused: 'Whether revoking is paused',
  keywarden_job_done_age_seconds:
    'Time since the last successful job of each kind for each account; without one, since its first attempt',
  keywarden_notices_unaccepted: 'Messages that their channel has not accepted yet',
  keywarden_ledger_events: 'Events in the signed ledger',
  keywarden_ledger_waiting_seconds: 'How long the oldest event has waited to be added to the ledger; 0 if none waits',
  keywarden_ledger_uncosigned_seconds:
    'How long the oldest checkpoint that a witness has not cosigned has waited for it',
} as const;
type GaugeName = keyof typeof gauges;

/**
 * Returns the metrics of the store's current state. If a node of its cluster does not answer, the metrics of coverage are absent. `witnesses` are the names of
 * the configured ones: one that has never cosigned has a metric too, and one that was removed has none.
 */
export async function readGauges(sql: Sql, witnesses: string[] = []): Promise<Gauge[]> {
  const nodes = await listNodes(sql);
  const up = nodes.map(({ name, answers }): Gauge => {
    return { name: 'keywarden_store_node_up', labels: { node: name }, value: answers ? 1 : 0 };
  });
  const coverage = nodes.every(({ answers }) => answers) ? await readCoverage(sql) : [];
  return [...up, ...coverage, ...(await readRecords(sql, witnesses))];
}

/** Returns the metrics of coverage, which needs every node. */
async function readCoverage(sql: Sql): Promise<Gauge[]> {
  const rows = await sql`
    with live as (
      select c.name as connection, p.created_at, cp.at, v.known
      from keywarden.connection c join keywarden.control_plane_now cp on cp.control_plane_number = c.control_plane_number
        join keywarden.project p on p.control_plane_number = c.control_plane_number
        left join (select project_number, known from keywarden.operation_coverage offset 0) v on v.project_number = p.number
      where c.removed_at is null and p.missing_since is null
    )
    -- Counts only gaps within the control plane's retention and after the oldest operation that it had at the project's first walk.
    select 'keywarden_operations_unknown_age_seconds' as name, jsonb_build_object('connection', connection) as labels,
      coalesce(max(extract(epoch from at - u.since)), 0)::float8 as value
    from live left join lateral (
      select min(lower(r)) as since from unnest(
        tstzmultirange(tstzrange(least(at, greatest(coalesce(lower(known), created_at), at - interval '180 days')), at)) - coalesce(known, '{}')) r
      where upper(r) - lower(r) > interval '1 second') u on true
    group by connection
    union all
    select 'keywarden_operations_known_ratio', jsonb_build_object('connection', connection), least(1, sum(k.seconds) /
      nullif(sum(extract(epoch from greatest(at - created_at, interval '1 second'))), 0))::float8
    from live cross join lateral (
      select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0) as seconds from unnest(coalesce(known, '{}')) r) k
    group by connection`;
  return rows.map(toGauge);
}

/** Returns the metrics of all other records. */
async function readRecords(sql: Sql, witnesses: string[]): Promise<Gauge[]> {
  const rows = await sql`
    select 'keywarden_sync_age_seconds' as name, jsonb_build_object('connection', c.name, 'kind', k.kind) as labels,
      extract(epoch from now() - coalesce(
        (select finished_at from keywarden.sync_run where connection = c.name and kind = k.kind and status = 'finished'
          and not keywarden.clock_was_ahead(finished_at) order by number desc limit 1),
        -- Since its first pass of any kind: the control plane can be much older than the connection.
        (select min(started_at) from keywarden.sync_run where connection = c.name), p.first_seen_at))::float8 as value
    from keywarden.connection c join keywarden.control_plane p on p.number = c.control_plane_number
      cross join unnest(${[...syncRunKinds]}::text[]) k(kind)
    where c.removed_at is null
    union all
    select 'keywarden_projects', jsonb_build_object('connection', c.name, 'walked', (p.walked_at is not null)::text), count(*)
    from keywarden.connection c join keywarden.control_plane_now cp on cp.control_plane_number = c.control_plane_number
      join keywarden.project p on p.control_plane_number = c.control_plane_number
    where c.removed_at is null and p.missing_since is null group by c.name, p.walked_at is not null
    union all
    select case when kind in ('personal', 'organization', 'project') then 'keywarden_keys' else 'keywarden_credentials' end,
      jsonb_build_object('kind', kind, 'state', case when gone_at is not null then 'gone'
        when missing_since is not null then 'missing' else 'live' end), count(*) from keywarden.credential group by 1, 2
    union all
    select 'keywarden_findings', jsonb_build_object('rule', f.rule, 'disposition', f.disposition), count(*) from keywarden.finding_now f
    where f.plan_id = (select id from keywarden.newest_plan) group by f.rule, f.disposition
    union all
    select 'keywarden_revocations', jsonb_build_object('outcome', coalesce(o.outcome, 'open')), count(*)
    from keywarden.revocation_intent i left join keywarden.revocation_outcome o on o.intent_number = i.number group by 2
    union all
    select 'keywarden_rotations', jsonb_build_object('state', state), count(*) from (
      select distinct on (e.rotation_number) e.state from keywarden.rotation_event e order by e.rotation_number, e.sequence desc) s group by state
    union all
    select 'keywarden_incidents_open', jsonb_build_object('kind', kind), count(*) from keywarden.incident where closed_at is null group by kind
    union all
    select 'keywarden_paused', '{}', (exists (select from keywarden.pause where resumed_at is null))::int
    union all
    select 'keywarden_job_done_age_seconds', jsonb_build_object('kind', kind, 'account', account),
      extract(epoch from now() - coalesce(
        max(finished_at) filter (where outcome = 'done' and not keywarden.clock_was_ahead(finished_at)), min(started_at)))::float8
    from keywarden.job_run group by kind, account
    union all
    select 'keywarden_notices_unaccepted', '{}', count(*) from keywarden.notice_message where accepted_at is null and cancelled_at is null
    union all
    select 'keywarden_ledger_events', '{}', coalesce(max(size), 0) from keywarden.ledger_checkpoint
    union all
    select 'keywarden_ledger_waiting_seconds', '{}', coalesce(extract(epoch from clock_timestamp() - min(recorded_at)), 0)::float8
    from keywarden.ledger_event
    where leaf_index is null or leaf_index = (select coalesce(max(size), 0) from keywarden.ledger_checkpoint)
    union all
    select 'keywarden_ledger_uncosigned_seconds', jsonb_build_object('witness', w.witness),
      coalesce(extract(epoch from clock_timestamp() - min(c.made_at)), 0)::float8
    from unnest(${witnesses}::text[]) w(witness)
      left join keywarden.ledger_checkpoint c on c.size > coalesce(
        (select max(s.size) from keywarden.ledger_cosignature s where s.witness = w.witness), -1)
    group by w.witness`;
  return rows.map(toGauge);
}

function toGauge({ name, labels, value }: Record<string, unknown>): Gauge {
  return { name: name as GaugeName, labels: labels as Record<string, string>, value: Number(value) };
}
