-- Writes a page of a project's operations: its rows, what it proves (A2), what it shows and cannot be read, and how far the walk has come. The daemon calls it
-- with named arguments. Without `walk_began`, no walk has read the rows. The days that it changes are sealed again.
create or replace function keywarden.save_operation_page(
  project bigint,
  -- The rows, oldest first: one array a column.
  ids uuid[], branch_ids text[], endpoint_ids text[], actions text[], statuses text[], failures_counts bigint[], errors text[], retry_ats timestamptz[],
  created_ats timestamptz[], updated_ats timestamptz[], durations bigint[], extras jsonb[],
  -- The order of the rows of one time (operation.place). Null means 0.
  places int[],
  -- The times of the first and the last row.
  oldest timestamptz, newest timestamptz,
  proved tstzrange,
  -- [{id, from, to}], or null if every row can be read.
  unread jsonb,
  walk_began timestamptz, walk_floor timestamptz,
  -- Where the walk continues; null if it is done.
  next_cursor text, next_below timestamptz,
  reached timestamptz, is_end boolean,
  out inserted int, out changed int
)
language plpgsql security definer set search_path = keywarden, pg_temp set plan_cache_mode = auto as $$
declare
  from_second timestamptz := date_trunc('second', oldest);
  below_second timestamptz := date_trunc('second', newest) + interval '1 second';
  terminal constant text[] := '{finished,cancelled,skipped}';
  replacements int;
  changed_days datemultirange := '{}';
  -- A variable, because a cluster evaluates now() only outside of an update with columns.
  marked_at timestamptz := now();
  -- What is stored between the two times, in whole seconds. Other rows of the page are new.
  stored_from timestamptz;
  stored_below timestamptz;
begin
  -- Two connections may see the same project, so the later writer must see what the earlier one wrote. The project's row cannot be the
  -- lock: where it is in a reference table of Citus, all projects would wait for each other.
  perform pg_advisory_xact_lock(hashtextextended('operations of project ' || project, 2));
  perform 1 from project p where p.number = project;
  if not found then
    raise exception 'project % does not exist', project using errcode = 'foreign_key_violation';
  end if;
  -- What reads operations is planned each time: a plan that a session keeps from when the months were empty reads the rows of all projects, and compares each
  -- row of a page with all others.
  set local plan_cache_mode = force_custom_plan;
  select date_trunc('second', min(o.created_at)), date_trunc('second', max(o.created_at)) + interval '1 second' into stored_from, stored_below
  from operation o where o.project_number = project and o.created_at >= from_second and o.created_at < below_second;
  set local plan_cache_mode = auto;
  -- Where nothing is stored, there is nothing to compare with, which saves half the work. Functions in the list of a select run in step, row by row; in
  -- `from`, each would store its result first.
  insert into operation (project_number, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
    updated_at, total_duration_ms, extra, place)
  select project, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at, updated_at, total_duration_ms,
    extra, coalesce(place, 0)
  from (
    select unnest(ids) as id, unnest(branch_ids) as branch_id, unnest(endpoint_ids) as endpoint_id, unnest(actions) as action, unnest(statuses) as status,
      unnest(failures_counts) as failures_count, unnest(errors) as error, unnest(retry_ats) as retry_at, unnest(created_ats) as created_at,
      unnest(updated_ats) as updated_at, unnest(durations) as total_duration_ms, unnest(extras) as extra, unnest(places) as place
  ) t
  where stored_from is null or created_at < stored_from or created_at >= stored_below;
  get diagnostics inserted = row_count;
  changed := 0;
  if stored_from is not null and inserted < cardinality(ids) then
  set local plan_cache_mode = force_custom_plan;
  with incoming as materialized (
    select id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at, updated_at, total_duration_ms, extra,
      coalesce(place, 0) as place, row
    from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras, places) with ordinality as t(id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra, place, row)
    where created_at >= stored_from and created_at < stored_below
  ), differing as materialized (
    select i.*, o.id is null as is_new, o.created_at as old_created_at, o.branch_id as old_branch_id, o.endpoint_id as old_endpoint_id, o.action as old_action,
      o.status as old_status, o.failures_count as old_failures_count, o.error as old_error, o.retry_at as old_retry_at,
      o.updated_at as old_updated_at, o.total_duration_ms as old_total_duration_ms, o.extra as old_extra, o.seen_at as old_seen_at
    -- Never an inner join: without statistics of a young month, its plan begins with the stored rows and compares each with the whole page.
    from incoming i
      left join operation o on o.project_number = project and o.id = i.id and o.created_at >= stored_from and o.created_at < stored_below
        and date_trunc('second', o.created_at) = date_trunc('second', i.created_at)
    where o.id is null
      or case when (i.status = any(terminal)) = (o.status = any(terminal)) then i.updated_at >= o.updated_at else i.status = any(terminal) end
      and (o.branch_id, o.endpoint_id, o.action, o.status, o.failures_count, o.error, o.retry_at, o.updated_at, o.total_duration_ms, o.extra)
        is distinct from (i.branch_id, i.endpoint_id, i.action, i.status, i.failures_count, i.error, i.retry_at, i.updated_at,
          i.total_duration_ms, i.extra)
  ), kept as (
    insert into operation_version (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error,
      retry_at, updated_at, total_duration_ms, extra, seen_at)
    select project, old_created_at, id, old_branch_id, old_endpoint_id, old_action, old_status, old_failures_count, old_error, old_retry_at,
      old_updated_at, old_total_duration_ms, old_extra, old_seen_at
    from differing where not is_new
    returning 1
  ), replaced as (
    update operation o set branch_id = d.branch_id, endpoint_id = d.endpoint_id, action = d.action, status = d.status,
      failures_count = d.failures_count, error = d.error, retry_at = d.retry_at, updated_at = d.updated_at,
      total_duration_ms = d.total_duration_ms, extra = d.extra, seen_at = now()
    from differing d
    where not d.is_new and o.project_number = project and o.created_at = d.old_created_at and o.id = d.id
      and o.created_at >= stored_from and o.created_at < stored_below and o.status = d.old_status and o.updated_at = d.old_updated_at and o.seen_at = d.old_seen_at
    returning 1
  ), added as (
    insert into operation (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at,
      updated_at, total_duration_ms, extra, place)
    select project, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, updated_at,
      total_duration_ms, extra, place
    from differing where is_new order by created_at, row
    returning 1
  )
  select inserted + count(*) filter (where is_new), count(*) filter (where not is_new), (select count(*) from replaced)
    into inserted, changed, replacements from differing;
  if replacements <> changed then
    -- On a cluster, the commit of another page has become visible meanwhile. The page is compared with it again.
    raise exception 'another page has changed these operations' using errcode = 'serialization_failure';
  end if;
  if cardinality(places) > 0 then
    -- This page shows more operations of one instant than the page before. Operations higher in the list get a higher place.
    update operation o set place = i.place
    from unnest(ids, created_ats, places) i(id, created_at, place)
    where i.place > 0 and o.project_number = project and o.created_at >= stored_from and o.created_at < stored_below
      and o.created_at = i.created_at and o.id = i.id and o.place < i.place;
  end if;
  set local plan_cache_mode = auto;
  end if;
  if inserted + changed > 0 then
    changed_days := datemultirange(daterange((from_second at time zone 'UTC')::date, (newest at time zone 'UTC')::date, '[]'));
  end if;
  changed_days := changed_days + keywarden.claim_operations(project, proved, unread);
  -- The ledger seals the changed days again, some minutes after the first change. A day that it has not sealed yet needs no mark.
  update operation_sealing s set changed = s.changed + changed_days * datemultirange(daterange(null, s.sealed_to)), changed_at = coalesce(s.changed_at, marked_at)
  where s.project_number = project and s.sealed_to > lower(changed_days);
  if walk_began is not null then
    perform keywarden.save_walk(project, walk_began, walk_floor, next_cursor, next_below, reached, is_end);
  end if;
end
$$;
