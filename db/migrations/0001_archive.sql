-- The times of a project for which the archive holds every operation that the control plane had (A2): the union of what pages proved.
create table keywarden.operation_coverage (
  project_number bigint primary key references keywarden.project,
  known tstzmultirange not null
);
--> statement-breakpoint
-- A walk that has not come to its end yet: the cursor of its next page as the control plane gave it, and the time of the row that it is of.
create table keywarden.open_walk (
  project_number bigint primary key references keywarden.project,
  began_at timestamptz not null,
  floor timestamptz,
  cursor text not null,
  below timestamptz not null
);
--> statement-breakpoint
-- The last completed walk of each day, and the last that came to the end of the list: rows not older than `reached` were there then (A6).
create table keywarden.completed_walk (
  project_number bigint not null references keywarden.project,
  day date not null,
  to_end boolean not null,
  began_at timestamptz not null,
  reached timestamptz not null,
  primary key (project_number, day, to_end)
);
--> statement-breakpoint
-- listed_active_at: when the project's list entry was last seen to have changed. Projects whose walks kept no coverage are walked whole once more.
alter table keywarden.project add column listed_active_at timestamptz;
--> statement-breakpoint
update keywarden.project set walked_at = null;
--> statement-breakpoint
-- How long operations are kept; without a row for ever. Set by the owner alone, when it migrates.
create table keywarden.operation_retention (
  number int primary key default 1 check (number = 1),
  keep interval not null check (keep >= interval '214 days'),
  set_at timestamptz not null default now()
);
--> statement-breakpoint
-- A month that is over its retention: announced by a dry run, then dropped.
create table keywarden.operation_drop (
  month date primary key,
  announced_at timestamptz not null default now(),
  operations bigint not null,
  bytes bigint not null,
  dropped_at timestamptz,
  dropped_by text
);
--> statement-breakpoint
drop function keywarden.ensure_operation_partitions(timestamptz, timestamptz);
--> statement-breakpoint
-- Makes the partitions of both tables for these months; those that exist are left as they are.
create function keywarden.make_operation_partitions(months date[]) returns void
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  month timestamp;
  parent text;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext('keywarden.make_operation_partitions'));
  for month in select distinct date_trunc('month', each::timestamp) from unnest(months) as each loop
    foreach parent in array array['operation', 'operation_version'] loop
      name := parent || to_char(month, '_YYYY_MM');
      if to_regclass(format('keywarden.%I', name)) is null then
        -- Attached, for that lets readers of the other months go on; making it as a partition would wait for all of them.
        execute format('create table keywarden.%I (like keywarden.%I including defaults)', name, parent);
        execute format('alter table keywarden.%I attach partition keywarden.%I for values from (%L) to (%L)',
          parent, name, month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
      end if;
    end loop;
  end loop;
end
$$;
--> statement-breakpoint
-- Writes a page of a project's operations: new rows, changed rows with the version that they replace, and nothing for the rest. A row older
-- than the stored one by its own updated_at is nothing new. What the page proves and how far its walk is go with it, all or nothing (A3).
-- Short arrays stand for nulls. `began` is null outside a walk; `next_cursor` is null when the walk is done, and `reached` says how far down it came.
create function keywarden.save_operation_page(
  project bigint, ids uuid[], branch_ids text[], endpoint_ids text[], actions text[], statuses text[], failures_counts bigint[],
  errors text[], retry_ats timestamptz[], created_ats timestamptz[], updated_ats timestamptz[], durations bigint[], extras jsonb[],
  oldest timestamptz, newest timestamptz, proved tstzrange, began timestamptz, walk_floor timestamptz, next_cursor text, next_below timestamptz, reached timestamptz, is_end boolean,
  out inserted int, out changed int
)
language plpgsql security definer set search_path = keywarden, pg_temp as $$
begin
  -- Two connections may see one project: the later writer must see what the earlier one wrote.
  perform 1 from project p where p.number = project for update;
  if not found then
    raise exception 'there is no project %', project using errcode = 'foreign_key_violation';
  end if;
  if not exists (select from operation o where o.project_number = project and o.created_at between oldest and newest) then
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
    select i.*, o.id is null as is_new, o as stored from incoming i
      left join operation o on o.project_number = project and o.created_at = i.created_at and o.id = i.id
        and o.created_at between oldest and newest
    where o.id is null or i.updated_at >= o.updated_at
      and (o.branch_id, o.endpoint_id, o.action, o.status, o.failures_count, o.error, o.retry_at, o.updated_at, o.total_duration_ms, o.extra)
        is distinct from (i.branch_id, i.endpoint_id, i.action, i.status, i.failures_count, i.error, i.retry_at, i.updated_at,
          i.total_duration_ms, i.extra)
  ), kept as (
    insert into operation_version (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error,
      retry_at, updated_at, total_duration_ms, extra, seen_at)
    select project, (stored).created_at, (stored).id, (stored).branch_id, (stored).endpoint_id, (stored).action, (stored).status,
      (stored).failures_count, (stored).error, (stored).retry_at, (stored).updated_at, (stored).total_duration_ms, (stored).extra,
      (stored).seen_at
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
-- Forgets the place of a walk whose next page cannot be had; the next walk begins at the newest operation again.
create function keywarden.forget_open_walk(project bigint) returns void
language sql security definer set search_path = keywarden, pg_temp as $$
  delete from open_walk where project_number = project;
$$;
--> statement-breakpoint
-- Announces the months that are over their retention, with what would go; those announced before are counted again.
create function keywarden.announce_operation_drops() returns setof keywarden.operation_drop
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
    values (first, found_rows, pg_total_relation_size(format('keywarden.%I', name)::regclass)
      + pg_total_relation_size(format('keywarden.%I', replace(name, 'operation_', 'operation_version_'))::regclass))
    on conflict (month) do update set operations = excluded.operations, bytes = excluded.bytes,
      announced_at = case when operation_drop.dropped_at is null then operation_drop.announced_at else now() end,
      dropped_at = null, dropped_by = null;
  end loop;
  return query select * from operation_drop where dropped_at is null order by month;
end
$$;
--> statement-breakpoint
-- Drops a month that was announced at least 23 hours ago and is over the retention still; refuses any other. What coverage claimed of it
-- goes too. It gives up rather than make every reader wait behind it.
create function keywarden.drop_operation_month(which date, who text) returns void
language plpgsql security definer set search_path = keywarden, pg_temp set lock_timeout = '5s' as $$
declare
  lasts tstzrange := tstzrange(which::timestamp at time zone 'UTC', (which + interval '1 month') at time zone 'UTC');
begin
  if not exists (select from operation_retention r where upper(lasts) <= now() - r.keep) then
    raise exception 'the operations of % are inside their retention', to_char(which, 'YYYY-MM') using errcode = 'insufficient_privilege';
  end if;
  if not exists (select from operation_drop d where d.month = which and d.dropped_at is null and d.announced_at <= now() - interval '23 hours') then
    raise exception 'no dry run has announced % a day ago', to_char(which, 'YYYY-MM') using errcode = 'insufficient_privilege';
  end if;
  execute format('drop table keywarden.%I', 'operation' || to_char(which, '_YYYY_MM'));
  execute format('drop table keywarden.%I', 'operation_version' || to_char(which, '_YYYY_MM'));
  delete from operation_pruned where created_at <@ lasts;
  update operation_coverage set known = known - tstzmultirange(lasts) where known && lasts;
  update operation_drop set dropped_at = now(), dropped_by = who where month = which;
end
$$;
--> statement-breakpoint
-- The roles under which the two apps work. A cluster has its roles in common: another database may have made them.
do $$
declare
  name text;
begin
  foreach name in array array['keywarden_daemon', 'keywarden_report'] loop
    if not exists (select from pg_roles where rolname = name) then
      begin
        execute format('create role %I nologin', name);
      exception when duplicate_object or unique_violation then null;
      end;
    end if;
    if not pg_has_role(current_user, name, 'member') then
      execute format('grant %I to current_user', name);
    end if;
  end loop;
end
$$;
--> statement-breakpoint
revoke all on all functions in schema keywarden from public;
--> statement-breakpoint
alter default privileges in schema keywarden revoke execute on functions from public;
--> statement-breakpoint
grant usage on schema keywarden to keywarden_daemon, keywarden_report;
--> statement-breakpoint
grant select on all tables in schema keywarden to keywarden_daemon, keywarden_report;
--> statement-breakpoint
grant insert, update on keywarden.control_plane, keywarden.connection, keywarden.sync_run, keywarden.organization, keywarden.member,
  keywarden.connection_scope, keywarden.key, keywarden.key_use, keywarden.report_token to keywarden_daemon;
--> statement-breakpoint
-- Which project an operation is of, since when, and how far it was walked: none of that is the daemon's to rewrite.
grant insert, update (organization_id, name, region_id, pg_version, owner_id, updated_at, extra, last_seen_at, missing_since, gone_at,
  listed_active_at) on keywarden.project to keywarden_daemon;
--> statement-breakpoint
-- History, plans and what was done: added to, never changed.
grant insert on keywarden.key_listing, keywarden.key_observation, keywarden.operation_pruned, keywarden.plan, keywarden.finding,
  keywarden.plan_approval, keywarden.revocation_intent, keywarden.revocation_outcome to keywarden_daemon;
--> statement-breakpoint
grant update (last_made_at) on keywarden.plan to keywarden_daemon;
--> statement-breakpoint
grant execute on function keywarden.make_operation_partitions(date[]),
  keywarden.save_operation_page,
  keywarden.forget_open_walk(bigint), keywarden.announce_operation_drops(), keywarden.drop_operation_month(date, text)
  to keywarden_daemon;
