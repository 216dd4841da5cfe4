-- Adds a mark of the report to the store (R10).
create or replace function keywarden.add_report_mark(mark uuid) returns void
  language sql security definer set search_path = pg_catalog, pg_temp as
$$ insert into keywarden.high_water_mark (mark, made_by) values (mark, 'report') $$;
