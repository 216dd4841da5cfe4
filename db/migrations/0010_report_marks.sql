-- What persons say through the report (exemptions, approvals, reviews) moves the mark too: a store that was restored from before it is an older one.
alter table keywarden.high_water_mark add column made_by text not null default 'daemon' check (made_by in ('daemon', 'report'));
--> statement-breakpoint
grant insert on keywarden.high_water_mark to keywarden_report;
--> statement-breakpoint
create function keywarden.report_older_store() returns void
language sql security definer set search_path = keywarden, pg_temp as $$
  insert into incident (kind, scope, detail)
  select 'high_water_mark', '', '{"why": "the store lacks the last mark of a report"}'
  where not exists (select from incident where kind = 'high_water_mark' and closed_at is null);
$$;
--> statement-breakpoint
-- A function is everybody's until that is taken from it; what was granted by name stays.
revoke execute on all functions in schema keywarden from public;
--> statement-breakpoint
grant execute on function keywarden.report_older_store() to keywarden_report;
