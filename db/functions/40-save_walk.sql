-- Writes how far a walk of a project's operations has come: where it continues, or, without `next_cursor`, that it is done. keywarden.save_operation_page
-- calls it.
create or replace function keywarden.save_walk(
  project bigint, walk_began timestamptz, walk_floor timestamptz, next_cursor text, next_below timestamptz, reached timestamptz, is_end boolean
) returns void
language plpgsql set search_path = keywarden, pg_temp as $$
begin
  if next_cursor is not null then
    insert into open_walk (project_number, began_at, floor, cursor, below) values (project, walk_began, walk_floor, next_cursor, next_below)
    on conflict (project_number) do update set began_at = excluded.began_at, floor = excluded.floor, cursor = excluded.cursor,
      below = excluded.below;
    return;
  end if;
  delete from open_walk w where w.project_number = project;
  update project p set walked_at = greatest(p.walked_at, walk_began) where p.number = project;
  -- Of two stored walks, the later one has not reached so deep. The list of operations finds the last walk that saw one by that.
  if exists (select from completed_walk w where w.project_number = project and w.began_at >= walk_began
    and (w.reached < save_walk.reached or w.reached = save_walk.reached and (w.to_end or not is_end))) then
    return;
  end if;
  delete from completed_walk w where w.project_number = project and w.began_at <= walk_began
    and (w.reached > save_walk.reached or w.reached = save_walk.reached and (is_end or not w.to_end));
  insert into completed_walk (project_number, day, to_end, began_at, reached)
  values (project, (walk_began at time zone 'UTC')::date, is_end, walk_began, reached)
  on conflict (project_number, day, to_end) do update set began_at = excluded.began_at, reached = excluded.reached;
end
$$;
