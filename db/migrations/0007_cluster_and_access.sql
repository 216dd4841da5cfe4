-- Of a table and its indexes; of one that Citus has distributed over all nodes.
create function keywarden.table_bytes(measured regclass) returns bigint
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  is_distributed boolean := false;
  bytes bigint := pg_total_relation_size(measured);
begin
  -- By their schema: of a name that is nowhere else a caller could make one of its own, and this runs as the owner.
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    execute 'select exists (select from pg_catalog.pg_dist_partition where logicalrelid = $1)' into is_distributed using measured;
  end if;
  if is_distributed then
    execute 'select pg_catalog.citus_total_relation_size($1)' into bytes using measured;
  end if;
  return bytes;
end
$$;
--> statement-breakpoint
-- As it was, but for the sizes.
create or replace function keywarden.announce_operation_drops() returns setof keywarden.operation_drop
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  name text;
  first date;
  found_rows bigint;
begin
  -- The retention may have been lengthened since.
  delete from operation_drop d where d.dropped_at is null and not exists (
    select from operation_retention r where (d.month + interval '1 month') at time zone 'UTC' <= now() - r.keep);
  for name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'keywarden.operation'::regclass and c.relname ~ '^operation_\d{4}_\d\d$' order by c.relname
  loop
    first := to_date(right(name, 7), 'YYYY_MM');
    continue when not exists (
      select from operation_retention r where (first + interval '1 month') at time zone 'UTC' <= now() - r.keep
    );
    execute format('select count(*) from keywarden.%I', name) into found_rows;
    insert into operation_drop (month, operations, bytes)
    values (first, found_rows, table_bytes(format('keywarden.%I', name)::regclass)
      + table_bytes(format('keywarden.%I', replace(name, 'operation_', 'operation_version_'))::regclass))
    on conflict (month) do update set operations = excluded.operations, bytes = excluded.bytes,
      announced_at = case when operation_drop.dropped_at is null then operation_drop.announced_at else now() end,
      dropped_at = null, dropped_by = null;
  end loop;
  return query select * from operation_drop where dropped_at is null order by month;
end
$$;
--> statement-breakpoint
-- As it was, but that what changes rows on the way gives something back, which a cluster asks of a part of a statement.
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
    returning 1
  ), replaced as (
    update operation o set branch_id = d.branch_id, endpoint_id = d.endpoint_id, action = d.action, status = d.status,
      failures_count = d.failures_count, error = d.error, retry_at = d.retry_at, updated_at = d.updated_at,
      total_duration_ms = d.total_duration_ms, extra = d.extra, seen_at = now()
    from differing d
    where not d.is_new and o.project_number = project and o.created_at = d.created_at and o.id = d.id
      and o.created_at between oldest and newest
    returning 1
  ), added as (
    insert into operation (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at,
      updated_at, total_duration_ms, extra)
    select project, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, updated_at,
      total_duration_ms, extra
    from differing where is_new
    returning 1
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
-- Forgets who asked the report for what, if that is longer ago than this, and than a year: whoever has the daemon's role wipes out no tracks.
create function keywarden.forget_accesses(before interval) returns bigint
language sql security definer set search_path = keywarden, pg_temp as $$
  with gone as (
    delete from access_log where at < now() - greatest(before, interval '365 days') returning 1
  )
  select count(*) from gone;
$$;
--> statement-breakpoint
grant execute on function keywarden.forget_accesses(interval) to keywarden_daemon;
--> statement-breakpoint
-- A function is everybody's until that is taken from it; what was granted by name stays.
revoke execute on all functions in schema keywarden from public;
