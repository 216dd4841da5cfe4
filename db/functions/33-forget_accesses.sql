-- Deletes access records older than this interval, and never those of the last year. The daemon's role therefore cannot erase its own
-- tracks.
create or replace function keywarden.forget_accesses(before interval) returns bigint
language sql security definer set search_path = keywarden, pg_temp as $$
  with gone as (
    delete from access_log where at < least(now() - before, now() - interval '365 days') returning 1
  )
  select count(*) from gone;
$$;
