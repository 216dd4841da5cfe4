-- Opens the incident that the store lacks the last mark of a report, unless one of its kind is open. Several reports may find it at once.
create or replace function keywarden.report_older_store() returns void
language sql security definer set search_path = keywarden, pg_temp as $$
  insert into incident (kind, scope, detail)
  values ('high_water_mark', '', '{"why": "the store lacks the last mark of a report"}') on conflict do nothing
$$;
