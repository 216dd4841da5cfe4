create or replace function keywarden.report_older_store() returns void
language sql security definer set search_path = keywarden, pg_temp as $$
  insert into incident (kind, scope, detail)
  select 'high_water_mark', '', '{"why": "the store lacks the last mark of a report"}'
  where not exists (select from incident where kind = 'high_water_mark' and closed_at is null);
$$;
