-- A time of a schedule that was enqueued: once, whoever ticks. Times are the database's own.
create table keywarden.schedule_slot (
  schedule text not null,
  slot_at timestamptz not null,
  claimed_at timestamptz not null default now(),
  replica uuid,
  -- How many jobs it enqueued; those whose account had one under way already are not among them.
  jobs int not null,
  primary key (schedule, slot_at)
);
--> statement-breakpoint
-- An attempt at a job, from its begin to its end. One without an end was killed, or runs.
create table keywarden.job_run (
  number bigint generated always as identity primary key,
  job_id uuid not null,
  kind text not null,
  account text not null,
  slot_at timestamptz,
  attempt int not null,
  replica uuid not null,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  outcome text check (outcome in ('done', 'failed', 'handed_back')),
  error jsonb,
  check ((finished_at is null) = (outcome is null))
);
--> statement-breakpoint
create index job_run_by_kind on keywarden.job_run (kind, account, number desc);
--> statement-breakpoint
create index job_run_by_time on keywarden.job_run (started_at);
--> statement-breakpoint
-- Who works under a lock has the fence that was raised when the lock was taken. Whoever lost the lock without noticing has an old one.
create table keywarden.work_fence (
  name text primary key,
  fence bigint not null,
  taken_at timestamptz not null default now()
);
--> statement-breakpoint
-- Refuses a write of whoever lost its lock, and keeps the next holder from beginning until that write is through.
create function keywarden.hold_fence(held_name text, held_fence bigint) returns void
language plpgsql set search_path = keywarden, pg_temp as $$
begin
  perform 1 from work_fence f where f.name = held_name and f.fence = held_fence for share;
  if not found then
    raise exception 'another process has taken over the %', held_name using errcode = 'KW002';
  end if;
end
$$;
--> statement-breakpoint
-- The requests that were reserved of an account, or of one of its routes, over all replicas. The limiter's own; times are in it, by this clock.
create table keywarden.request_budget (
  name text primary key,
  version bigint not null default 0,
  state jsonb not null
) with (fillfactor = 50);
--> statement-breakpoint
-- Writes the budgets that one reservation draws on, all of them or, where another came first, none.
create function keywarden.save_request_budgets(names text[], versions bigint[], states jsonb[]) returns boolean
language plpgsql set search_path = keywarden, pg_temp as $$
declare
  found_rows int;
begin
  insert into request_budget (name, state) select n, '{}' from unnest(names) as n order by n on conflict (name) do nothing;
  perform 1 from request_budget b where b.name = any(names) order by b.name for update;
  update request_budget b set version = b.version + 1, state = w.state
  from unnest(names, versions, states) as w(name, version, state)
  where b.name = w.name and (select count(*) from unnest(names, versions) as o(name, version)
    join request_budget c on c.name = o.name and c.version = o.version) = cardinality(names);
  get diagnostics found_rows = row_count;
  return found_rows > 0;
end
$$;
--> statement-breakpoint
alter table keywarden.incident drop constraint incident_kind_check;
--> statement-breakpoint
-- job_failed: a job of the daemon failed as often as it is tried; its scope is "job KIND ACCOUNT".
alter table keywarden.incident add constraint incident_kind_check
  check (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed'));
--> statement-breakpoint
-- Forgets slots and attempts at jobs that nobody asks for any more.
create function keywarden.forget_old_jobs(before interval) returns void
language sql security definer set search_path = keywarden, pg_temp as $$
  delete from job_run where started_at < now() - greatest(before, interval '30 days');
  delete from schedule_slot s where s.slot_at < now() - greatest(before, interval '30 days')
    and exists (select from schedule_slot l where l.schedule = s.schedule and l.slot_at > s.slot_at);
$$;
--> statement-breakpoint
grant select on keywarden.schedule_slot, keywarden.job_run, keywarden.work_fence, keywarden.request_budget
  to keywarden_daemon, keywarden_report;
--> statement-breakpoint
grant insert on keywarden.schedule_slot, keywarden.job_run, keywarden.work_fence, keywarden.request_budget to keywarden_daemon;
--> statement-breakpoint
grant update (finished_at, outcome, error) on keywarden.job_run to keywarden_daemon;
--> statement-breakpoint
grant update (jobs) on keywarden.schedule_slot to keywarden_daemon;
--> statement-breakpoint
grant update on keywarden.work_fence, keywarden.request_budget to keywarden_daemon;
--> statement-breakpoint
grant execute on function keywarden.hold_fence(text, bigint), keywarden.save_request_budgets(text[], bigint[], jsonb[]),
  keywarden.forget_old_jobs(interval) to keywarden_daemon;
