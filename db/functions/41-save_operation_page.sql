-- Writes a page of a project's operations: its rows, what it proves (A2), what it shows and cannot be read, and how far the walk has come. The daemon calls it
-- with named arguments. Without `walk_began`, no walk has read the rows. The days that it changes are sealed again.
--
-- The fields of an operation stand in the tables alone. {o.* as old_*} is `o.action as old_action, o.branch_id as old_branch_id` and so on, one part for each.
do $make$
declare
  made text := $function$
create or replace function keywarden.save_operation_page(
  project bigint,
  -- The rows, oldest first: one array a column.
  each_id uuid[], each_created_at timestamptz[], {each_* <type>[]},
  -- The order of the rows of one time (operation.place). Null means 0.
  each_place int[],
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
  insert into operation (project_number, id, created_at, {*}, place)
  select project, id, created_at, {*}, coalesce(place, 0)
  from (
    select unnest(each_id) as id, unnest(each_created_at) as created_at, {unnest(each_*) as *}, unnest(each_place) as place
  ) t
  where stored_from is null or created_at < stored_from or created_at >= stored_below;
  get diagnostics inserted = row_count;
  changed := 0;
  if stored_from is not null and inserted < cardinality(each_id) then
  set local plan_cache_mode = force_custom_plan;
  with incoming as materialized (
    select id, created_at, {*}, coalesce(place, 0) as place, row
    from unnest(each_id, each_created_at, {each_*}, each_place) with ordinality as t(id, created_at, {*}, place, row)
    where created_at >= stored_from and created_at < stored_below
  ), differing as materialized (
    select i.*, o.id is null as is_new, o.created_at as old_created_at, {o.* as old_*}, o.seen_at as old_seen_at
    -- Never an inner join: without statistics of a young month, its plan begins with the stored rows and compares each with the whole page.
    from incoming i
      left join operation o on o.project_number = project and o.id = i.id and o.created_at >= stored_from and o.created_at < stored_below
        and date_trunc('second', o.created_at) = date_trunc('second', i.created_at)
    where o.id is null
      or case when (i.status = any(terminal)) = (o.status = any(terminal)) then i.updated_at >= o.updated_at else i.status = any(terminal) end
      and ({o.*}) is distinct from ({i.*})
  ), kept as (
    insert into operation_version (project_number, created_at, id, {*}, seen_at)
    select project, old_created_at, id, {old_*}, old_seen_at from differing where not is_new
    returning 1
  ), replaced as (
    update operation o set {* = d.*}, seen_at = now()
    from differing d
    where not d.is_new and o.project_number = project and o.created_at = d.old_created_at and o.id = d.id
      and o.created_at >= stored_from and o.created_at < stored_below and o.status = d.old_status and o.updated_at = d.old_updated_at and o.seen_at = d.old_seen_at
    returning 1
  ), added as (
    insert into operation (project_number, created_at, id, {*}, place)
    select project, created_at, id, {*}, place from differing where is_new order by created_at, row
    returning 1
  )
  select inserted + count(*) filter (where is_new), count(*) filter (where not is_new), (select count(*) from replaced)
    into inserted, changed, replacements from differing;
  if replacements <> changed then
    -- On a cluster, the commit of another page has become visible meanwhile. The page is compared with it again.
    raise exception 'another page has changed these operations' using errcode = 'serialization_failure';
  end if;
  if cardinality(each_place) > 0 then
    -- This page shows more operations of one instant than the page before. Operations higher in the list get a higher place.
    update operation o set place = i.place
    from unnest(each_id, each_created_at, each_place) i(id, created_at, place)
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
$$
$function$;
  part text;
  fields text;
begin
  for part in select distinct m[1] from regexp_matches(made, '\{([^{}]*\*[^{}]*)\}', 'g') m loop
    select string_agg(replace(replace(part, '*', o.attname), '<type>', format_type(o.atttypid, o.atttypmod)), ', ' order by o.attname collate "C") into fields
    from pg_attribute o join pg_attribute v using (attname)
    where o.attrelid = 'keywarden.operation'::regclass and v.attrelid = 'keywarden.operation_version'::regclass
      and o.attnum > 0 and not o.attisdropped and o.attname not in ('project_number', 'created_at', 'id', 'seen_at');
    made := replace(made, '{' || part || '}', fields);
  end loop;
  execute made;
end
$make$;
