-- Deletes the position of a walk whose next page cannot be read. The next walk begins at the newest operation again.
-- A function of language sql could not: before Postgres 18 a cluster does not know the project of its statements.
create or replace function keywarden.forget_open_walk(project bigint) returns void
language plpgsql security definer set search_path = keywarden, pg_temp as $$
begin
  delete from open_walk w where w.project_number = project;
end
$$;
