-- A time of a schedule that was enqueued: once, whoever ticks. Times are the database's own.
create table keywarden.schedule_slot (
  schedule text not null,
  slot_at timestamptz not null,
  claimed_at timestamptz not null default now(),
  replica uuid,
  -- How many jobs it enqueued; those whose account had one under way already are not among them.
  jobs int not null,
  primary key (schedule, slot_at)
);
--> statement-breakpoint
-- An attempt at a job, from its begin to its end. One without an end was killed, or runs.
create table keywarden.job_run (
  number bigint generated always as identity primary key,
  job_id uuid not null,
  kind text not null,
  account text not null,
  slot_at timestamptz,
  attempt int not null,
  replica uuid not null,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  outcome text check (outcome in ('done', 'failed', 'handed_back')),
  error jsonb,
  check ((finished_at is null) = (outcome is null))
);
--> statement-breakpoint
create index job_run_by_kind on keywarden.job_run (kind, account, number desc);
--> statement-breakpoint
create index job_run_by_time on keywarden.job_run (started_at);
--> statement-breakpoint
create index sync_run_by_connection on keywarden.sync_run (connection, kind, number desc) where status = 'finished';
--> statement-breakpoint
-- Who works under a lock has the fence that was raised when the lock was taken. Whoever lost the lock without noticing has an old one.
create table keywarden.work_fence (
  name text primary key,
  fence bigint not null,
  taken_at timestamptz not null default now()
);
--> statement-breakpoint
-- Refuses a write of whoever lost its lock, and keeps the next holder from beginning until that write is through.
create function keywarden.hold_fence(held_name text, held_fence bigint) returns void
language plpgsql set search_path = keywarden, pg_temp as $$
begin
  perform 1 from work_fence f where f.name = held_name and f.fence = held_fence for share;
  if not found then
    raise exception 'another process has taken over the %', held_name using errcode = 'KW002';
  end if;
end
$$;
--> statement-breakpoint
-- The requests that were reserved of an account, or of one of its routes, over all replicas. The limiter's own; times are in it, by this clock.
create table keywarden.request_budget (
  name text primary key,
  version bigint not null default 0,
  state jsonb not null
) with (fillfactor = 50);
--> statement-breakpoint
-- Writes the budgets that one reservation draws on, all of them or, where another came first, none.
create function keywarden.save_request_budgets(names text[], versions bigint[], states jsonb[]) returns boolean
language plpgsql set search_path = keywarden, pg_temp as $$
declare
  found_rows int;
begin
  insert into request_budget (name, state) select n, '{}' from unnest(names) as n order by n on conflict (name) do nothing;
  perform 1 from request_budget b where b.name = any(names) order by b.name for update;
  update request_budget b set version = b.version + 1, state = w.state
  from unnest(names, versions, states) as w(name, version, state)
  where b.name = w.name and (select count(*) from unnest(names, versions) as o(name, version)
    join request_budget c on c.name = o.name and c.version = o.version) = cardinality(names);
  get diagnostics found_rows = row_count;
  return found_rows > 0;
end
$$;
--> statement-breakpoint
alter table keywarden.incident drop constraint incident_kind_check;
--> statement-breakpoint
-- job_failed: a job of the daemon failed as often as it is tried; its scope is "job KIND ACCOUNT".
alter table keywarden.incident add constraint incident_kind_check
  check (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed'));
--> statement-breakpoint
-- Forgets slots and attempts at jobs that nobody asks for any more.
create function keywarden.forget_old_jobs(before interval) returns void
language sql security definer set search_path = keywarden, pg_temp as $$
  delete from job_run where started_at < now() - greatest(before, interval '30 days');
  delete from schedule_slot s where s.slot_at < now() - greatest(before, interval '30 days')
    and exists (select from schedule_slot l where l.schedule = s.schedule and l.slot_at > s.slot_at);
$$;
--> statement-breakpoint
grant select on keywarden.schedule_slot, keywarden.job_run, keywarden.work_fence, keywarden.request_budget
  to keywarden_daemon, keywarden_report;
--> statement-breakpoint
grant insert on keywarden.schedule_slot, keywarden.job_run, keywarden.work_fence, keywarden.request_budget to keywarden_daemon;
--> statement-breakpoint
grant update (finished_at, outcome, error) on keywarden.job_run to keywarden_daemon;
--> statement-breakpoint
grant update (jobs) on keywarden.schedule_slot to keywarden_daemon;
--> statement-breakpoint
grant update on keywarden.work_fence, keywarden.request_budget to keywarden_daemon;
--> statement-breakpoint
grant execute on function keywarden.hold_fence(text, bigint), keywarden.save_request_budgets(text[], bigint[], jsonb[]),
  keywarden.forget_old_jobs(interval) to keywarden_daemon;
--> statement-breakpoint
-- As it was, in words that a distributed table takes, too: each statement on operations names their project, and no row is taken whole.
create or replace function keywarden.save_operation_page(
  project bigint, ids uuid[], branch_ids text[], endpoint_ids text[], actions text[], statuses text[], failures_counts bigint[],
  errors text[], retry_ats timestamptz[], created_ats timestamptz[], updated_ats timestamptz[], durations bigint[], extras jsonb[],
  oldest timestamptz, newest timestamptz, proved tstzrange, began timestamptz, walk_floor timestamptz, next_cursor text, next_below timestamptz, reached timestamptz, is_end boolean,
  out inserted int, out changed int
)
language plpgsql security definer set search_path = keywarden, pg_temp as $$
begin
  -- Two connections may see one project: the later writer must see what the earlier one wrote. Not by the project's row: where that is a
  -- reference table of Citus all projects would wait for each other.
  perform pg_advisory_xact_lock(hashtextextended('operations of project ' || project, 2));
  perform 1 from project p where p.number = project;
  if not found then
    raise exception 'there is no project %', project using errcode = 'foreign_key_violation';
  end if;
  perform 1 from operation o where o.project_number = project and o.created_at between oldest and newest limit 1;
  if not found then
    -- A first walk: nothing to compare with, which is half the work.
    insert into operation (project_number, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra)
    select project, * from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras);
    get diagnostics inserted = row_count;
    changed := 0;
  else
  with incoming as materialized (
    select * from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras) as t(id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra)
  ), differing as materialized (
    select i.*, o.id is null as is_new, o.branch_id as old_branch_id, o.endpoint_id as old_endpoint_id, o.action as old_action,
      o.status as old_status, o.failures_count as old_failures_count, o.error as old_error, o.retry_at as old_retry_at,
      o.updated_at as old_updated_at, o.total_duration_ms as old_total_duration_ms, o.extra as old_extra, o.seen_at as old_seen_at
    from incoming i
      left join operation o on o.project_number = project and o.created_at = i.created_at and o.id = i.id
        and o.created_at between oldest and newest
    where o.id is null or i.updated_at >= o.updated_at
      and (o.branch_id, o.endpoint_id, o.action, o.status, o.failures_count, o.error, o.retry_at, o.updated_at, o.total_duration_ms, o.extra)
        is distinct from (i.branch_id, i.endpoint_id, i.action, i.status, i.failures_count, i.error, i.retry_at, i.updated_at,
          i.total_duration_ms, i.extra)
  ), kept as (
    insert into operation_version (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error,
      retry_at, updated_at, total_duration_ms, extra, seen_at)
    select project, created_at, id, old_branch_id, old_endpoint_id, old_action, old_status, old_failures_count, old_error, old_retry_at,
      old_updated_at, old_total_duration_ms, old_extra, old_seen_at
    from differing where not is_new
  ), replaced as (
    update operation o set branch_id = d.branch_id, endpoint_id = d.endpoint_id, action = d.action, status = d.status,
      failures_count = d.failures_count, error = d.error, retry_at = d.retry_at, updated_at = d.updated_at,
      total_duration_ms = d.total_duration_ms, extra = d.extra, seen_at = now()
    from differing d
    where not d.is_new and o.project_number = project and o.created_at = d.created_at and o.id = d.id
      and o.created_at between oldest and newest
  ), added as (
    insert into operation (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at,
      updated_at, total_duration_ms, extra)
    select project, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, updated_at,
      total_duration_ms, extra
    from differing where is_new
  )
  select count(*) filter (where is_new), count(*) filter (where not is_new) into inserted, changed from differing;
  end if;
  if proved is not null then
    insert into operation_coverage as c values (project, tstzmultirange(proved))
    on conflict (project_number) do update set known = c.known + excluded.known where not c.known @> proved;
  end if;
  if began is null then
    return;
  end if;
  if next_cursor is not null then
    insert into open_walk values (project, began, walk_floor, next_cursor, next_below)
    on conflict (project_number) do update set began_at = excluded.began_at, floor = excluded.floor, cursor = excluded.cursor,
      below = excluded.below;
    return;
  end if;
  delete from open_walk w where w.project_number = project;
  update project p set walked_at = greatest(p.walked_at, began) where p.number = project;
  insert into completed_walk values (project, (began at time zone 'UTC')::date, is_end, began, reached)
  on conflict (project_number, day, to_end) do update set began_at = excluded.began_at, reached = excluded.reached;
end
$$;
--> statement-breakpoint
-- A function is everybody's until that is taken from it; what was granted by name stays.
revoke execute on all functions in schema keywarden from public;
