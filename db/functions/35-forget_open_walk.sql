-- Deletes the position of a walk whose next page cannot be read. The next walk begins at the newest operation again.
create or replace function keywarden.forget_open_walk(project bigint) returns void
language sql security definer set search_path = keywarden, pg_temp as $$
  delete from open_walk where project_number = project;
$$;
