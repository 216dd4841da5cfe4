-- Forgets who asked the report for what, if that is longer ago than this, and than a year: whoever has the daemon's role wipes out no tracks.
create or replace function keywarden.forget_accesses(before interval) returns bigint
language sql security definer set search_path = keywarden, pg_temp as $$
  with gone as (
    delete from access_log where at < now() - greatest(before, interval '365 days') returning 1
  )
  select count(*) from gone;
$$;
