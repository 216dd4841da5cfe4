-- Keeps the last use of a key: a daemon that is no longer ours must not make a key in use look unused.
create or replace function keywarden.refuse_lost_use() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'a recorded use cannot become earlier' using errcode = 'insufficient_privilege';
end
$$;
