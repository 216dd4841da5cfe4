-- Deletes schedule slots and job attempts that are no longer needed.
create or replace function keywarden.forget_old_jobs(before interval) returns void
language sql security definer set search_path = keywarden, pg_temp as $$
  delete from job_run where started_at < least(now() - before, now() - interval '30 days');
  delete from schedule_slot s where s.slot_at < least(now() - before, now() - interval '30 days')
    and exists (select from schedule_slot l where l.schedule = s.schedule and l.slot_at > s.slot_at);
$$;
