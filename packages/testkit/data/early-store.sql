-- A store as the sixteen migrations made it that db/migrations/0000_baseline.sql replaced. Upgrades are tested from it.
create schema if not exists keywarden;
create table keywarden.migration (id serial primary key, hash text not null, created_at bigint);

create schema if not exists keywarden;
create table keywarden.control_plane (
  number bigint generated always as identity primary key,
  base_url text not null unique,
  first_seen_at timestamptz not null default now()
);
-- A configured base URL with one credential. own_key_id is the credential's own key: configured, never guessed.
create table keywarden.connection (
  name text primary key,
  control_plane_number bigint not null references keywarden.control_plane,
  account_id text not null,
  auth_method text not null,
  own_key_id bigint,
  is_sandbox boolean not null,
  checked_at timestamptz not null,
  removed_at timestamptz
);
create table keywarden.sync_run (
  number bigint generated always as identity primary key,
  kind text not null check (kind in ('keys', 'operations')),
  connection text not null,
  status text not null check (status in ('running', 'finished', 'failed', 'interrupted')),
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  counts jsonb not null default '{}',
  error jsonb
);
create table keywarden.organization (
  control_plane_number bigint not null references keywarden.control_plane,
  id text not null,
  name text not null,
  created_at timestamptz not null,
  extra jsonb,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (control_plane_number, id)
);
-- missing_since: absent from one complete listing; left_at or gone_at: absent from two in a row.
create table keywarden.member (
  control_plane_number bigint not null,
  organization_id text not null,
  user_id text not null,
  member_id text not null,
  email text not null,
  role text not null,
  joined_at timestamptz,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  missing_since timestamptz,
  left_at timestamptz,
  primary key (control_plane_number, organization_id, user_id),
  foreign key (control_plane_number, organization_id) references keywarden.organization
);
-- walked_at: the control plane's time at the start of the last completed walk of the project's operations.
create table keywarden.project (
  number bigint generated always as identity primary key,
  control_plane_number bigint not null references keywarden.control_plane,
  id text not null,
  organization_id text not null,
  name text not null,
  region_id text,
  pg_version int,
  owner_id text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  extra jsonb,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  missing_since timestamptz,
  gone_at timestamptz,
  walked_at timestamptz,
  unique (control_plane_number, id)
);
-- One listing of one scope's keys: listed_at by the control plane's Date, begun_at by our database's clock. Listings that are incomplete or not to be believed say why, and prove no absence.
create table keywarden.key_listing (
  number bigint generated always as identity primary key,
  control_plane_number bigint not null references keywarden.control_plane,
  scope text not null,
  connection text not null,
  run_number bigint references keywarden.sync_run,
  listed_at timestamptz not null,
  begun_at timestamptz not null,
  received_at timestamptz not null default now(),
  key_count int not null,
  doubt text
);
create index key_listing_by_scope on keywarden.key_listing (control_plane_number, scope, number desc);
create table keywarden.connection_scope (
  connection text not null references keywarden.connection,
  control_plane_number bigint not null references keywarden.control_plane,
  scope text not null,
  seen_at timestamptz not null,
  primary key (connection, control_plane_number, scope)
);
create table keywarden.key (
  number bigint generated always as identity primary key,
  control_plane_number bigint not null references keywarden.control_plane,
  scope text not null,
  id bigint not null,
  kind text not null check (kind in ('personal', 'organization', 'project')),
  organization_id text,
  project_id text,
  name text not null,
  creator_id text not null,
  creator_name text,
  created_at timestamptz not null,
  last_used_at timestamptz,
  last_used_from text,
  use_went_back boolean not null default false,
  extra jsonb,
  first_seen_at timestamptz not null,
  missing_since timestamptz,
  gone_at timestamptz,
  unique (control_plane_number, scope, id)
);
-- What changed when: first_seen, changed (name, creator, project, unknown fields), missing, gone, back, revoked (by us).
create table keywarden.key_observation (
  number bigint generated always as identity primary key,
  key_number bigint not null references keywarden.key,
  run_number bigint references keywarden.sync_run,
  seen_at timestamptz not null,
  event text not null check (event in ('first_seen', 'changed', 'missing', 'gone', 'back', 'revoked')),
  record jsonb
);
create index key_observation_by_key on keywarden.key_observation (key_number, number);
-- The history of use that the control plane does not keep: one row a key, address and hour.
create table keywarden.key_use (
  key_number bigint not null references keywarden.key,
  hour timestamptz not null,
  address text not null,
  last_used_at timestamptz not null,
  primary key (key_number, hour, address)
);
create table keywarden.operation (
  project_number bigint not null,
  created_at timestamptz not null,
  id uuid not null,
  branch_id text,
  endpoint_id text,
  action text not null,
  status text not null,
  failures_count bigint not null,
  error text,
  retry_at timestamptz,
  updated_at timestamptz not null,
  total_duration_ms bigint,
  extra jsonb,
  seen_at timestamptz not null default now(),
  primary key (project_number, created_at, id)
) partition by range (created_at);
-- Versions that were replaced, as they were. seen_at is when that version was first seen, replaced_at when it was found changed.
create table keywarden.operation_version (
  project_number bigint not null,
  created_at timestamptz not null,
  id uuid not null,
  branch_id text,
  endpoint_id text,
  action text not null,
  status text not null,
  failures_count bigint not null,
  error text,
  retry_at timestamptz,
  updated_at timestamptz not null,
  total_duration_ms bigint,
  extra jsonb,
  seen_at timestamptz not null,
  replaced_at timestamptz not null default clock_timestamp(),
  primary key (project_number, created_at, id, replaced_at)
) partition by range (created_at);
create index operation_open on keywarden.operation (project_number, created_at) where status not in ('finished', 'cancelled', 'skipped');
create index operation_by_time on keywarden.operation (created_at desc, project_number desc, id desc);
-- Operations that were going on when the control plane stopped to serve them: they are not asked for again.
create table keywarden.operation_pruned (
  project_number bigint not null,
  created_at timestamptz not null,
  id uuid not null,
  found_at timestamptz not null default now(),
  primary key (project_number, created_at, id)
);
-- Makes the monthly partitions of both tables from one instant to another; those that exist are left as they are.
create function keywarden.ensure_operation_partitions(first timestamptz, last timestamptz) returns void
language plpgsql as $$
declare
  month timestamp := date_trunc('month', first at time zone 'UTC');
  parent text;
begin
  perform pg_advisory_xact_lock(hashtext('keywarden.ensure_operation_partitions'));
  while month <= last at time zone 'UTC' loop
    foreach parent in array array['operation', 'operation_version'] loop
      if to_regclass(format('keywarden.%I', parent || to_char(month, '_YYYY_MM'))) is null then
        execute format(
          'create table keywarden.%I partition of keywarden.%I for values from (%L) to (%L)',
          parent || to_char(month, '_YYYY_MM'), parent, month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC'
        );
      end if;
    end loop;
    month := month + interval '1 month';
  end loop;
end
$$;
-- document is the canonical JSON that sha256 is of. last_made_at moves when the same facts give the same plan again.
create table keywarden.plan (
  id text primary key,
  sequence bigint generated always as identity unique,
  sha256 text not null,
  document text not null,
  created_at timestamptz not null default now(),
  last_made_at timestamptz not null default now(),
  item_count int not null,
  held_count int not null,
  reported_count int not null
);
create table keywarden.finding (
  number bigint generated always as identity primary key,
  plan_id text not null references keywarden.plan,
  key_number bigint not null references keywarden.key,
  rule text not null,
  action text not null check (action in ('report', 'revoke')),
  disposition text not null check (disposition in ('planned', 'held', 'reported')),
  why_held text,
  rule_limit text not null,
  evidence jsonb not null,
  reason text not null
);
create index finding_by_plan on keywarden.finding (plan_id, number);
create table keywarden.plan_approval (
  number bigint generated always as identity primary key,
  plan_id text not null references keywarden.plan,
  approved_by text not null,
  via text not null check (via in ('command line')),
  approved_at timestamptz not null default now()
);
-- Committed before a call that revokes. The unique attempt lets one caller begin it, whoever else tries.
create table keywarden.revocation_intent (
  number bigint generated always as identity primary key,
  plan_id text not null references keywarden.plan,
  key_number bigint not null references keywarden.key,
  attempt int not null,
  connection text not null,
  approval_number bigint not null references keywarden.plan_approval,
  last_listing_number bigint not null references keywarden.key_listing,
  created_at timestamptz not null default now(),
  unique (key_number, attempt)
);
-- revoked: by us. gone: not there any more, and not known to be by us. not_revoked: still there. failed: refused.
create table keywarden.revocation_outcome (
  intent_number bigint primary key references keywarden.revocation_intent,
  outcome text not null check (outcome in ('revoked', 'gone', 'not_revoked', 'failed')),
  used_in_flight boolean not null default false,
  detail jsonb,
  at timestamptz not null default now()
);
-- token_hash is the SHA-256 of a token of 256 random bits; organization_ids null means all.
create table keywarden.report_token (
  number bigint generated always as identity primary key,
  name text not null,
  token_hash text not null unique,
  role text not null check (role in ('viewer', 'auditor', 'operator')),
  organization_ids text[],
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz
);

-- The times of a project for which the archive holds every operation that the control plane had (A2): the union of what pages proved.
create table keywarden.operation_coverage (
  project_number bigint primary key references keywarden.project,
  known tstzmultirange not null
);
-- A walk that has not come to its end yet: the cursor of its next page as the control plane gave it, and the time of the row that it is of.
create table keywarden.open_walk (
  project_number bigint primary key references keywarden.project,
  began_at timestamptz not null,
  floor timestamptz,
  cursor text not null,
  below timestamptz not null
);
-- The last completed walk of each day, and the last that came to the end of the list: rows not older than `reached` were there then (A6).
create table keywarden.completed_walk (
  project_number bigint not null references keywarden.project,
  day date not null,
  to_end boolean not null,
  began_at timestamptz not null,
  reached timestamptz not null,
  primary key (project_number, day, to_end)
);
-- listed_active_at: when the project's list entry was last seen to have changed. Projects whose walks kept no coverage are walked whole once more.
alter table keywarden.project add column listed_active_at timestamptz;
update keywarden.project set walked_at = null;
-- How long operations are kept; without a row for ever. Set by the owner alone, when it migrates.
create table keywarden.operation_retention (
  number int primary key default 1 check (number = 1),
  keep interval not null check (keep >= interval '214 days'),
  set_at timestamptz not null default now()
);
-- A month that is over its retention: announced by a dry run, then dropped.
create table keywarden.operation_drop (
  month date primary key,
  announced_at timestamptz not null default now(),
  operations bigint not null,
  bytes bigint not null,
  dropped_at timestamptz,
  dropped_by text
);
drop function keywarden.ensure_operation_partitions(timestamptz, timestamptz);
-- Makes the partitions of both tables for these months; those that exist are left as they are.
create function keywarden.make_operation_partitions(months date[]) returns void
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  month timestamp;
  parent text;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext('keywarden.make_operation_partitions'));
  for month in select distinct date_trunc('month', each::timestamp) from unnest(months) as each loop
    foreach parent in array array['operation', 'operation_version'] loop
      name := parent || to_char(month, '_YYYY_MM');
      if to_regclass(format('keywarden.%I', name)) is null then
        -- Attached, for that lets readers of the other months go on; making it as a partition would wait for all of them.
        execute format('create table keywarden.%I (like keywarden.%I including defaults)', name, parent);
        execute format('alter table keywarden.%I attach partition keywarden.%I for values from (%L) to (%L)',
          parent, name, month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
      end if;
    end loop;
  end loop;
end
$$;
-- Writes a page of a project's operations: new rows, changed rows with the version that they replace, and nothing for the rest. A row older
-- than the stored one by its own updated_at is nothing new. What the page proves and how far its walk is go with it, all or nothing (A3).
-- Short arrays stand for nulls. `began` is null outside a walk; `next_cursor` is null when the walk is done, and `reached` says how far down it came.
create function keywarden.save_operation_page(
  project bigint, ids uuid[], branch_ids text[], endpoint_ids text[], actions text[], statuses text[], failures_counts bigint[],
  errors text[], retry_ats timestamptz[], created_ats timestamptz[], updated_ats timestamptz[], durations bigint[], extras jsonb[],
  oldest timestamptz, newest timestamptz, proved tstzrange, began timestamptz, walk_floor timestamptz, next_cursor text, next_below timestamptz, reached timestamptz, is_end boolean,
  out inserted int, out changed int
)
language plpgsql security definer set search_path = keywarden, pg_temp as $$
begin
  -- Two connections may see one project: the later writer must see what the earlier one wrote.
  perform 1 from project p where p.number = project for update;
  if not found then
    raise exception 'there is no project %', project using errcode = 'foreign_key_violation';
  end if;
  if not exists (select from operation o where o.project_number = project and o.created_at between oldest and newest) then
    -- A first walk: nothing to compare with, which is half the work.
    insert into operation (project_number, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra)
    select project, * from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras);
    get diagnostics inserted = row_count;
    changed := 0;
  else
  with incoming as materialized (
    select * from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras) as t(id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra)
  ), differing as materialized (
    select i.*, o.id is null as is_new, o as stored from incoming i
      left join operation o on o.project_number = project and o.created_at = i.created_at and o.id = i.id
        and o.created_at between oldest and newest
    where o.id is null or i.updated_at >= o.updated_at
      and (o.branch_id, o.endpoint_id, o.action, o.status, o.failures_count, o.error, o.retry_at, o.updated_at, o.total_duration_ms, o.extra)
        is distinct from (i.branch_id, i.endpoint_id, i.action, i.status, i.failures_count, i.error, i.retry_at, i.updated_at,
          i.total_duration_ms, i.extra)
  ), kept as (
    insert into operation_version (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error,
      retry_at, updated_at, total_duration_ms, extra, seen_at)
    select project, (stored).created_at, (stored).id, (stored).branch_id, (stored).endpoint_id, (stored).action, (stored).status,
      (stored).failures_count, (stored).error, (stored).retry_at, (stored).updated_at, (stored).total_duration_ms, (stored).extra,
      (stored).seen_at
    from differing where not is_new
  ), replaced as (
    update operation o set branch_id = d.branch_id, endpoint_id = d.endpoint_id, action = d.action, status = d.status,
      failures_count = d.failures_count, error = d.error, retry_at = d.retry_at, updated_at = d.updated_at,
      total_duration_ms = d.total_duration_ms, extra = d.extra, seen_at = now()
    from differing d
    where not d.is_new and o.project_number = project and o.created_at = d.created_at and o.id = d.id
      and o.created_at between oldest and newest
  ), added as (
    insert into operation (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at,
      updated_at, total_duration_ms, extra)
    select project, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, updated_at,
      total_duration_ms, extra
    from differing where is_new
  )
  select count(*) filter (where is_new), count(*) filter (where not is_new) into inserted, changed from differing;
  end if;
  if proved is not null then
    insert into operation_coverage as c values (project, tstzmultirange(proved))
    on conflict (project_number) do update set known = c.known + excluded.known where not c.known @> proved;
  end if;
  if began is null then
    return;
  end if;
  if next_cursor is not null then
    insert into open_walk values (project, began, walk_floor, next_cursor, next_below)
    on conflict (project_number) do update set began_at = excluded.began_at, floor = excluded.floor, cursor = excluded.cursor,
      below = excluded.below;
    return;
  end if;
  delete from open_walk w where w.project_number = project;
  update project p set walked_at = greatest(p.walked_at, began) where p.number = project;
  insert into completed_walk values (project, (began at time zone 'UTC')::date, is_end, began, reached)
  on conflict (project_number, day, to_end) do update set began_at = excluded.began_at, reached = excluded.reached;
end
$$;
-- Forgets the place of a walk whose next page cannot be had; the next walk begins at the newest operation again.
create function keywarden.forget_open_walk(project bigint) returns void
language sql security definer set search_path = keywarden, pg_temp as $$
  delete from open_walk where project_number = project;
$$;
-- Announces the months that are over their retention, with what would go; those announced before are counted again.
create function keywarden.announce_operation_drops() returns setof keywarden.operation_drop
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  name text;
  first date;
  found_rows bigint;
begin
  -- The retention may have been lengthened since.
  delete from operation_drop d where d.dropped_at is null and not exists (
    select from operation_retention r where (d.month + interval '1 month') at time zone 'UTC' <= now() - r.keep);
  for name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'keywarden.operation'::regclass and c.relname ~ '^operation_\d{4}_\d\d$' order by c.relname
  loop
    first := to_date(right(name, 7), 'YYYY_MM');
    continue when not exists (
      select from operation_retention r where (first + interval '1 month') at time zone 'UTC' <= now() - r.keep
    );
    execute format('select count(*) from keywarden.%I', name) into found_rows;
    insert into operation_drop (month, operations, bytes)
    values (first, found_rows, pg_total_relation_size(format('keywarden.%I', name)::regclass)
      + pg_total_relation_size(format('keywarden.%I', replace(name, 'operation_', 'operation_version_'))::regclass))
    on conflict (month) do update set operations = excluded.operations, bytes = excluded.bytes,
      announced_at = case when operation_drop.dropped_at is null then operation_drop.announced_at else now() end,
      dropped_at = null, dropped_by = null;
  end loop;
  return query select * from operation_drop where dropped_at is null order by month;
end
$$;
-- Drops a month that was announced at least 23 hours ago and is over the retention still; refuses any other. What coverage claimed of it
-- goes too. It gives up rather than make every reader wait behind it.
create function keywarden.drop_operation_month(which date, who text) returns void
language plpgsql security definer set search_path = keywarden, pg_temp set lock_timeout = '5s' as $$
declare
  lasts tstzrange := tstzrange(which::timestamp at time zone 'UTC', (which + interval '1 month') at time zone 'UTC');
begin
  if not exists (select from operation_retention r where upper(lasts) <= now() - r.keep) then
    raise exception 'the operations of % are inside their retention', to_char(which, 'YYYY-MM') using errcode = 'insufficient_privilege';
  end if;
  if not exists (select from operation_drop d where d.month = which and d.dropped_at is null and d.announced_at <= now() - interval '23 hours') then
    raise exception 'no dry run has announced % a day ago', to_char(which, 'YYYY-MM') using errcode = 'insufficient_privilege';
  end if;
  execute format('drop table keywarden.%I', 'operation' || to_char(which, '_YYYY_MM'));
  execute format('drop table keywarden.%I', 'operation_version' || to_char(which, '_YYYY_MM'));
  delete from operation_pruned where created_at <@ lasts;
  update operation_coverage set known = known - tstzmultirange(lasts) where known && lasts;
  update operation_drop set dropped_at = now(), dropped_by = who where month = which;
end
$$;
-- The roles under which the two apps work. A cluster has its roles in common: another database may have made them.
do $$
declare
  name text;
begin
  foreach name in array array['keywarden_daemon', 'keywarden_report'] loop
    if not exists (select from pg_roles where rolname = name) then
      begin
        execute format('create role %I nologin', name);
      exception when duplicate_object or unique_violation then null;
      end;
    end if;
    if not pg_has_role(current_user, name, 'member') then
      execute format('grant %I to current_user', name);
    end if;
  end loop;
end
$$;
revoke all on all functions in schema keywarden from public;
alter default privileges in schema keywarden revoke execute on functions from public;
grant usage on schema keywarden to keywarden_daemon, keywarden_report;
grant select on all tables in schema keywarden to keywarden_daemon, keywarden_report;
grant insert, update on keywarden.control_plane, keywarden.connection, keywarden.sync_run, keywarden.organization, keywarden.member,
  keywarden.connection_scope, keywarden.key, keywarden.key_use, keywarden.report_token to keywarden_daemon;
-- Which project an operation is of, since when, and how far it was walked: none of that is the daemon's to rewrite.
grant insert, update (organization_id, name, region_id, pg_version, owner_id, updated_at, extra, last_seen_at, missing_since, gone_at,
  listed_active_at) on keywarden.project to keywarden_daemon;
-- History, plans and what was done: added to, never changed.
grant insert on keywarden.key_listing, keywarden.key_observation, keywarden.operation_pruned, keywarden.plan, keywarden.finding,
  keywarden.plan_approval, keywarden.revocation_intent, keywarden.revocation_outcome to keywarden_daemon;
grant update (last_made_at) on keywarden.plan to keywarden_daemon;
grant execute on function keywarden.make_operation_partitions(date[]),
  keywarden.save_operation_page,
  keywarden.forget_open_walk(bigint), keywarden.announce_operation_drops(), keywarden.drop_operation_month(date, text)
  to keywarden_daemon;

-- While one is open nothing is revoked, by whatever replica (R7).
create table keywarden.pause (
  number bigint generated always as identity primary key,
  paused_at timestamptz not null default now(),
  paused_by text not null,
  reason text,
  resumed_at timestamptz,
  resumed_by text
);
create unique index pause_open on keywarden.pause ((resumed_at is null)) where resumed_at is null;
-- What a person has to look at. used_in_flight: the answer to a revocation showed a use that the evidence had not (R5).
create table keywarden.incident (
  number bigint generated always as identity primary key,
  kind text not null check (kind in ('used_in_flight')),
  opened_at timestamptz not null default now(),
  key_number bigint not null references keywarden.key,
  intent_number bigint references keywarden.revocation_intent,
  detail jsonb not null,
  closed_at timestamptz,
  closed_by text,
  note text
);
grant select on keywarden.pause, keywarden.incident to keywarden_daemon, keywarden_report;
grant insert, update (resumed_at, resumed_by) on keywarden.pause to keywarden_daemon;
grant insert, update (closed_at, closed_by, note) on keywarden.incident to keywarden_daemon;

-- Since which listing every believed one has shown the key. Of keys known before nobody wrote it down: the last listing is sure.
alter table keywarden.key add column present_since timestamptz;
update keywarden.key set present_since = first_seen_at;
update keywarden.key k set present_since = l.last from (
  select control_plane_number, scope, max(listed_at) as last from keywarden.key_listing where doubt is null
  group by control_plane_number, scope) l
where l.control_plane_number = k.control_plane_number and l.scope = k.scope;
alter table keywarden.key alter column present_since set not null;
create index key_listing_doubted on keywarden.key_listing (control_plane_number, scope, number desc) where doubt is not null;
create index key_use_by_time on keywarden.key_use (last_used_at);
-- Complete listings of an organization's members, and whether most members were suddenly absent (A7).
create table keywarden.member_listing (
  control_plane_number bigint not null references keywarden.control_plane,
  organization_id text not null,
  listed_at timestamptz not null,
  is_sudden boolean not null,
  primary key (control_plane_number, organization_id, listed_at)
);
-- Own keys of connections, also those of before: while two replicas have different ones, both are in use (R2).
create table keywarden.own_key (
  connection text not null references keywarden.connection,
  key_id bigint not null,
  checked_at timestamptz not null default now(),
  primary key (connection, key_id)
);
insert into keywarden.own_key (connection, key_id) select name, own_key_id from keywarden.connection where own_key_id is not null;
-- Who answers for a key; the newest row counts, and one without an owner gives the key back to its creator.
create table keywarden.key_owner (
  number bigint generated always as identity primary key,
  key_number bigint not null references keywarden.key,
  owner text,
  source text not null check (source in ('import', 'assignment')),
  assigned_at timestamptz not null default now(),
  assigned_by text not null
);
create index key_owner_by_key on keywarden.key_owner (key_number, number desc);
-- A person's exception, for the keys that it covered when it was granted. Times are the control plane's; rules null means all.
create table keywarden.exemption (
  number bigint generated always as identity primary key,
  rules text[],
  pattern text,
  reason text not null check (reason <> ''),
  granted_by text not null,
  granted_at timestamptz not null,
  until timestamptz not null check (until > granted_at),
  ended_at timestamptz,
  ended_by text
);
create table keywarden.exemption_key (
  exemption_number bigint not null references keywarden.exemption,
  key_number bigint not null references keywarden.key,
  primary key (exemption_number, key_number)
);
create index exemption_key_by_key on keywarden.exemption_key (key_number);
-- A finding that is being announced. It ends when the finding does; what comes back is announced anew (R9). basis: what it rests on.
create table keywarden.announcement (
  number bigint generated always as identity primary key,
  key_number bigint not null references keywarden.key,
  rule text not null,
  basis text not null,
  opened_at timestamptz not null default now(),
  ended_at timestamptz
);
create unique index announcement_open on keywarden.announcement (key_number, rule) where ended_at is null;
-- One request to one channel, the same body at every try. accepted_at is the control plane's time: grace is counted by it.
create table keywarden.notice_message (
  number bigint generated always as identity primary key,
  id uuid not null default gen_random_uuid(),
  control_plane_number bigint not null references keywarden.control_plane,
  channel text not null,
  owner text not null,
  body jsonb not null,
  created_at timestamptz not null default now(),
  attempts int not null default 0,
  last_error text,
  accepted_at timestamptz,
  cancelled_at timestamptz
);
create index notice_message_pending on keywarden.notice_message (number) where accepted_at is null and cancelled_at is null;
create table keywarden.notice (
  announcement_number bigint not null references keywarden.announcement,
  step text not null,
  channel text not null,
  message_number bigint not null references keywarden.notice_message,
  primary key (announcement_number, step, channel, message_number)
);
create index notice_by_message on keywarden.notice (message_number);
-- Each policy that a plan was judged by, as it was parsed.
create table keywarden.policy_version (
  sha256 text primary key,
  document jsonb not null,
  first_used_at timestamptz not null default now()
);
-- A mark is added here, and kept in a file outside, with whatever governs: a store that lacks the file's is an older one (R10).
create table keywarden.high_water_mark (
  number bigint generated always as identity unique,
  mark uuid primary key,
  made_at timestamptz not null default now()
);
alter table keywarden.plan add column policy_sha256 text;
alter table keywarden.finding drop constraint finding_action_check;
alter table keywarden.finding add constraint finding_action_check check (action in ('report', 'notify', 'rotate', 'revoke'));
alter table keywarden.finding add column hold_kind text;
alter table keywarden.plan_approval drop constraint plan_approval_via_check;
alter table keywarden.plan_approval add constraint plan_approval_via_check check (via in ('command line', 'report', 'enforcement'));
-- judged_at: the control plane's present at which the key was judged; null for intents that are older than this column.
alter table keywarden.revocation_intent add column judged_at timestamptz;
alter table keywarden.revocation_intent add column policy_sha256 text;
create index revocation_intent_by_time on keywarden.revocation_intent ((coalesce(judged_at, created_at)));
alter table keywarden.incident drop constraint incident_kind_check;
alter table keywarden.incident add constraint incident_kind_check check (kind in ('used_in_flight', 'breaker', 'high_water_mark'));
alter table keywarden.incident alter column key_number drop not null;
-- control plane and scope, as plans name them; empty for what is of no scope.
alter table keywarden.incident add column scope text not null default '';
update keywarden.incident c set scope = k.control_plane_number || '/' || k.scope from keywarden.key k where k.number = c.key_number;
-- What is of a scope, and not of a key, is one incident while it is open.
create unique index incident_open_of_scope on keywarden.incident (kind, scope) where closed_at is null and key_number is null;
-- An approval that is over. done: each of its items is, and what its plan condemns is acknowledged. stopped: it was not to go on. One of
-- the report's that is not here is tried again until it expires.
create table keywarden.approval_end (
  approval_number bigint primary key references keywarden.plan_approval,
  how text not null check (how in ('done', 'stopped')),
  at timestamptz not null default now()
);
grant select on keywarden.approval_end to keywarden_daemon, keywarden_report;
grant insert on keywarden.approval_end to keywarden_daemon;
-- An approval by the report: an operator says yes to a plan that was made within a day, and the daemon carries it out within a day. Null
-- for another plan.
create function keywarden.approve_plan(approved_plan text, approver text) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as
$$ insert into keywarden.plan_approval (plan_id, approved_by, via)
  select id, approver, 'report' from keywarden.plan where id = approved_plan and last_made_at > now() - interval '24 hours' returning number $$;
revoke execute on function keywarden.approve_plan(text, text) from public;
grant execute on function keywarden.approve_plan(text, text) to keywarden_report;
grant select on keywarden.key_owner, keywarden.exemption, keywarden.exemption_key, keywarden.announcement, keywarden.notice_message,
  keywarden.notice, keywarden.policy_version, keywarden.high_water_mark, keywarden.member_listing, keywarden.own_key to keywarden_daemon, keywarden_report;
grant insert on keywarden.key_owner, keywarden.exemption_key, keywarden.notice, keywarden.policy_version, keywarden.high_water_mark,
  keywarden.member_listing to keywarden_daemon;
grant insert, update (ended_at, ended_by) on keywarden.exemption to keywarden_daemon;
grant insert, update (ended_at) on keywarden.announcement to keywarden_daemon;
grant insert, update (attempts, last_error, accepted_at, cancelled_at) on keywarden.notice_message to keywarden_daemon;
grant insert, update on keywarden.own_key to keywarden_daemon;

-- A rotation of a key. line: the first key of its line, whose owner and exemptions the successors keep. Settings are those it began with.
create table keywarden.rotation (
  number bigint generated always as identity primary key,
  id text not null unique check (id ~ '^[a-z0-9]{8}$'),
  key_number bigint not null references keywarden.key,
  line_number bigint not null references keywarden.key,
  rule text,
  sink text not null,
  quiet_for interval not null,
  adopt_within interval not null,
  via text not null check (via in ('policy', 'command line', 'report')),
  requested_by text not null,
  policy_sha256 text not null,
  opened_at timestamptz not null default now(),
  ended_at timestamptz,
  given_up_by text
);
-- T4: one open rotation a line.
create unique index rotation_open on keywarden.rotation (line_number) where ended_at is null;
create index rotation_by_key on keywarden.rotation (key_number);
-- Each transition. at: the control plane's time. The number is counted and taken in one statement, so that of two callers one gets it.
create table keywarden.rotation_event (
  rotation_number bigint not null references keywarden.rotation,
  sequence int not null,
  state text not null check (state in ('planned', 'minting', 'minted', 'delivered', 'overlapping', 'adopted', 'retiring', 'retired',
    'failed', 'orphaned', 'stalled')),
  at timestamptz not null,
  why text,
  recorded_at timestamptz not null default now(),
  primary key (rotation_number, sequence)
);
-- The intent to mint a successor, and what became of it: its id once the answer is there, and whether its sink has it. unclear: nobody
-- can tell. lost: its secret is, and it is an orphan.
create table keywarden.rotation_mint (
  rotation_number bigint not null references keywarden.rotation,
  attempt int not null,
  name text not null unique,
  connection text not null,
  creator_id text not null,
  last_listing_number bigint not null references keywarden.key_listing,
  created_at timestamptz not null default now(),
  key_id bigint,
  fate text check (fate in ('delivered', 'unclear', 'lost')),
  delivered_at timestamptz,
  place text,
  primary key (rotation_number, attempt)
);
create index rotation_mint_by_place on keywarden.rotation_mint (place) where place is not null;
create index key_by_name on keywarden.key (control_plane_number, scope, name) where gone_at is null;
create index rotation_mint_by_key on keywarden.rotation_mint (key_id) where key_id is not null;
-- What an operator asks for in the report; the daemon answers with a row of its own.
create table keywarden.rotation_request (
  number bigint generated always as identity primary key,
  key_number bigint not null references keywarden.key,
  requested_by text not null check (requested_by <> ''),
  reason text not null check (reason <> ''),
  requested_at timestamptz not null default now()
);
create table keywarden.rotation_request_answer (
  request_number bigint primary key references keywarden.rotation_request,
  rotation_number bigint references keywarden.rotation,
  why_not text,
  answered_at timestamptz not null default now(),
  check ((rotation_number is null) = (why_not is not null))
);
-- The times of a rule's own schedule that have come, by the control plane's clock, and whether all that was due has been begun.
create table keywarden.rotation_slot (
  control_plane_number bigint not null references keywarden.control_plane,
  rule text not null,
  slot timestamptz not null,
  begun_at timestamptz not null default now(),
  done_at timestamptz,
  primary key (control_plane_number, rule, slot)
);
-- Which own key each process works with: an old one goes when all that live have the new one.
create table keywarden.replica_credential (
  replica uuid not null,
  connection text not null references keywarden.connection,
  key_id bigint not null,
  authenticated_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (replica, connection)
);
-- The line of each key that succeeded another. Keys that are not here are lines of their own.
create view keywarden.key_line with (security_invoker = true) as
  select k.number as key_number, r.line_number, r.number as rotation_number
  from keywarden.rotation_mint m
    join keywarden.rotation r on r.number = m.rotation_number
    join keywarden.key o on o.number = r.key_number
    join keywarden.key k on k.control_plane_number = o.control_plane_number and k.scope = o.scope and k.id = m.key_id
  where m.fate is distinct from 'lost' and (m.fate is not null or r.ended_at is null);
-- A key goes by a plan or by its rotation.
alter table keywarden.revocation_intent alter column plan_id drop not null;
alter table keywarden.revocation_intent alter column approval_number drop not null;
alter table keywarden.revocation_intent add column rotation_number bigint references keywarden.rotation;
alter table keywarden.revocation_intent add constraint revocation_intent_cause check (
  (plan_id is null) = (approval_number is null) and (plan_id is null) = (rotation_number is not null));
create index revocation_intent_by_rotation on keywarden.revocation_intent (rotation_number) where rotation_number is not null;
alter table keywarden.notice_message add column incident_number bigint references keywarden.incident;
create index notice_message_by_incident on keywarden.notice_message (incident_number) where incident_number is not null;
alter table keywarden.incident drop constraint incident_kind_check;
alter table keywarden.incident add constraint incident_kind_check
  check (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan'));
create unique index incident_open_of_rotation on keywarden.incident (kind, key_number)
  where closed_at is null and kind in ('rotation_stalled', 'orphan');
grant select on keywarden.rotation, keywarden.rotation_event, keywarden.rotation_mint, keywarden.rotation_request,
  keywarden.rotation_request_answer, keywarden.rotation_slot, keywarden.replica_credential, keywarden.key_line
  to keywarden_daemon, keywarden_report;
grant insert on keywarden.rotation_event, keywarden.rotation_request_answer to keywarden_daemon;
grant insert, update (done_at) on keywarden.rotation_slot to keywarden_daemon;
-- An open incident may tell more than it did.
grant update (detail) on keywarden.incident to keywarden_daemon;
grant insert, update (ended_at, given_up_by) on keywarden.rotation to keywarden_daemon;
grant insert, update (key_id, fate, delivered_at, place) on keywarden.rotation_mint to keywarden_daemon;
grant insert, update on keywarden.replica_credential to keywarden_daemon;
-- The report asks, and does nothing else of a rotation.
grant insert (key_number, requested_by, reason) on keywarden.rotation_request to keywarden_report;

-- Who read, exported or changed what through the report. A streamed answer has two rows: begun, and how it ended.
create table keywarden.access_log (
  number bigint generated always as identity primary key,
  at timestamptz not null default now(),
  request_id uuid not null,
  token_number bigint not null references keywarden.report_token,
  address text not null,
  method text not null,
  path text not null,
  query text not null default '',
  status int not null,
  stream text check (stream in ('begun', 'complete', 'cut')),
  records bigint,
  sha256 text
);
create index access_log_by_token on keywarden.access_log (token_number, number desc);
-- The first use of the hour, too: what a past time is asked for must not be hidden by a later use of the same hour.
alter table keywarden.key_use add column first_used_at timestamptz;
update keywarden.key_use set first_used_at = last_used_at;
alter table keywarden.key_use alter column first_used_at set not null;
create index key_listing_believed on keywarden.key_listing (control_plane_number, scope, listed_at desc) where doubt is null;
-- An operator says no to a plan. The newest word on a plan counts: an approval after it lets the plan go.
create table keywarden.plan_rejection (
  number bigint generated always as identity primary key,
  plan_id text not null references keywarden.plan,
  rejected_by text not null check (rejected_by <> ''),
  reason text not null check (reason <> ''),
  rejected_at timestamptz not null default clock_timestamp()
);
create index plan_rejection_by_plan on keywarden.plan_rejection (plan_id, rejected_at);
create index plan_approval_by_plan on keywarden.plan_approval (plan_id, approved_at);
-- Approvals by persons that count still: a day long, until somebody says no, and until one of the plan's was carried out or stopped. A person
-- with two tokens of one name, or with a token and the command line, is one person.
create view keywarden.standing_approval with (security_invoker = true) as
  select a.number, a.plan_id, a.approved_by, regexp_replace(a.approved_by, ' \(report token [0-9]+\)$', '') as person, a.via, a.approved_at
  from keywarden.plan_approval a
  where a.via <> 'enforcement' and a.approved_at > now() - interval '24 hours'
    and not exists (select from keywarden.plan_rejection r where r.plan_id = a.plan_id and r.rejected_at >= a.approved_at)
    and not exists (select from keywarden.approval_end e join keywarden.plan_approval x on x.number = e.approval_number
      where x.plan_id = a.plan_id and x.via <> 'enforcement' and e.at >= a.approved_at);
-- How many persons have approved a plan, and how many its own policy wants.
create view keywarden.plan_standing with (security_invoker = true) as
  select p.id as plan_id, (select count(distinct s.person)::int from keywarden.standing_approval s where s.plan_id = p.id) as approvers,
    case when p.item_count > (v.document ->> 'second_person_above')::int then 2 else 1 end as approvers_needed
  from keywarden.plan p left join keywarden.policy_version v on v.sha256 = p.policy_sha256;
create index rotation_by_line on keywarden.rotation (line_number);
-- Who answers for each key now, and its line: whom it, or another of its line, was assigned to last, else its line's creator. It says what
-- key_line says, key by key: each step is by a unique index, for a planner that has seen no statistics begins with all keys of a scope.
create view keywarden.key_owner_now with (security_invoker = true) as
  select k.number as key_number, f.number as line_number, coalesce(
      (select o.owner from keywarden.key_owner o where o.key_number = f.number or o.key_number = any(array(
          select (select s.number from keywarden.key s
            where s.control_plane_number = f.control_plane_number and s.scope = f.scope and s.id = m.key_id)
          from keywarden.rotation r join keywarden.rotation_mint m on m.rotation_number = r.number
          where r.line_number = f.number and m.fate is distinct from 'lost' and (m.fate is not null or r.ended_at is null)))
       order by o.number desc limit 1),
      (select m.email from keywarden.member m where m.control_plane_number = k.control_plane_number and m.user_id = f.creator_id
       order by m.left_at is null desc, m.last_seen_at desc, m.email limit 1),
      f.creator_id) as owner
  from keywarden.key k
    left join lateral (
      select r.line_number from (select m.rotation_number, m.fate from keywarden.rotation_mint m
          where m.key_id = k.id and m.fate is distinct from 'lost' offset 0) m
        join keywarden.rotation r on r.number = m.rotation_number
      where (m.fate is not null or r.ended_at is null) and (select (o.control_plane_number, o.scope) = (k.control_plane_number, k.scope)
        from keywarden.key o where o.number = r.key_number)
      order by r.number limit 1) l on true
    join keywarden.key f on f.number = coalesce(l.line_number, k.number);
create index member_by_user on keywarden.member (control_plane_number, user_id);
-- The present of each control plane by its own clock, as far as its last listing tells.
create view keywarden.control_plane_present with (security_invoker = true) as
  select c.number as control_plane_number, coalesce(l.listed_at + (now() - l.received_at), now()) as at
  from keywarden.control_plane c left join lateral (
    select listed_at, received_at from keywarden.key_listing where control_plane_number = c.number order by number desc limit 1) l on true;
-- What nobody sees through the connections that there are: of each scope what is hidden there, and of whom.
create view keywarden.blind_spot with (security_invoker = true) as
  select m.control_plane_number, 'organization:' || m.organization_id as scope, null::text as connection, 'personal_keys' as kind,
    count(*)::int as members, null::timestamptz as since
  from keywarden.member m where m.left_at is null and not exists (select from keywarden.connection c
    where c.control_plane_number = m.control_plane_number and c.account_id = m.user_id and c.removed_at is null)
  group by m.control_plane_number, m.organization_id
  union all
  select o.control_plane_number, 'organization:' || o.id, null, 'members_unknown', null, null from keywarden.organization o
  where not exists (select from keywarden.member_listing l where l.control_plane_number = o.control_plane_number and l.organization_id = o.id)
  union all
  select l.control_plane_number, l.scope, null, 'listing_old', null, l.listed_at
  from (select control_plane_number, scope, max(listed_at) as listed_at from keywarden.key_listing where doubt is null
      group by control_plane_number, scope) l
    join keywarden.control_plane_present p on p.control_plane_number = l.control_plane_number
  where l.listed_at < p.at - interval '1 day'
  union all
  select c.control_plane_number, null, c.name, 'own_key_unknown', null, c.checked_at from keywarden.connection c
  where c.own_key_id is null and c.removed_at is null;
-- An access review: keys as they were at a time, each of which a person decides about. keep_for: how long the exemption of a key that is
-- kept against a rule lasts.
create table keywarden.review (
  number bigint generated always as identity primary key,
  title text not null check (title <> ''),
  as_of timestamptz not null,
  filter jsonb not null,
  holes jsonb not null,
  plan_id text references keywarden.plan,
  keep_for interval not null,
  opened_by text not null check (opened_by <> ''),
  opened_at timestamptz not null default now()
);
-- key: as every list shows it. findings: what the policy said of it when the review was opened.
create table keywarden.review_item (
  review_number bigint not null references keywarden.review,
  key_number bigint not null references keywarden.key,
  key jsonb not null,
  findings jsonb not null,
  primary key (review_number, key_number)
);
create table keywarden.review_decision (
  number bigint generated always as identity primary key,
  review_number bigint not null,
  key_number bigint not null,
  decision text not null check (decision in ('keep', 'revoke', 'rotate')),
  reason text not null check (reason <> ''),
  decided_by text not null check (decided_by <> ''),
  decided_at timestamptz not null default clock_timestamp(),
  foreign key (review_number, key_number) references keywarden.review_item
);
create index review_decision_by_item on keywarden.review_decision (review_number, key_number, number desc);
create index review_decision_by_key on keywarden.review_decision (key_number);
-- sha256 is of the review as canonical JSON: what was decided, of which keys, by whom.
create table keywarden.review_signature (
  review_number bigint primary key references keywarden.review,
  signed_by text not null check (signed_by <> ''),
  signed_at timestamptz not null default clock_timestamp(),
  sha256 text not null
);
-- Whoever decides or signs waits for who does so at the same time.
create function keywarden.lock_review(wanted bigint) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as
$$ select number from keywarden.review where number = wanted for update $$;
revoke execute on function keywarden.lock_review(bigint) from public;
grant execute on function keywarden.lock_review(bigint) to keywarden_report;
-- A signed review stays as it is, whatever the program does.
create function keywarden.refuse_signed_review() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from keywarden.review_signature s where s.review_number = new.review_number) then
    raise exception 'the review is signed' using errcode = 'KW001';
  end if;
  return new;
end
$$;
create trigger signed_review_stays before insert on keywarden.review_decision
  for each row execute function keywarden.refuse_signed_review();
create trigger signed_review_keeps_its_keys before insert on keywarden.review_item
  for each row execute function keywarden.refuse_signed_review();
-- What the newest signed review that looked at each key decided.
create view keywarden.review_verdict with (security_invoker = true) as
  select distinct on (d.key_number) d.key_number, d.decision, d.reason, d.decided_by, d.decided_at, d.review_number
  from keywarden.review_decision d join keywarden.review_signature s on s.review_number = d.review_number
  order by d.key_number, s.signed_at desc, d.number desc;
grant select on keywarden.access_log, keywarden.plan_rejection, keywarden.standing_approval, keywarden.plan_standing,
  keywarden.key_owner_now, keywarden.control_plane_present, keywarden.blind_spot, keywarden.review, keywarden.review_item, keywarden.review_decision,
  keywarden.review_signature, keywarden.review_verdict to keywarden_daemon, keywarden_report;
grant insert on keywarden.access_log, keywarden.plan_rejection, keywarden.exemption, keywarden.exemption_key, keywarden.review,
  keywarden.review_item, keywarden.review_decision, keywarden.review_signature to keywarden_report;
grant update (ended_at, ended_by) on keywarden.exemption to keywarden_report;

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
create index job_run_by_kind on keywarden.job_run (kind, account, number desc);
create index job_run_by_time on keywarden.job_run (started_at);
create index sync_run_by_connection on keywarden.sync_run (connection, kind, number desc) where status = 'finished';
-- Who works under a lock has the fence that was raised when the lock was taken. Whoever lost the lock without noticing has an old one.
create table keywarden.work_fence (
  name text primary key,
  fence bigint not null,
  taken_at timestamptz not null default now()
);
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
-- The requests that were reserved of an account, or of one of its routes, over all replicas. The limiter's own; times are in it, by this clock.
create table keywarden.request_budget (
  name text primary key,
  version bigint not null default 0,
  state jsonb not null
) with (fillfactor = 50);
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
alter table keywarden.incident drop constraint incident_kind_check;
-- job_failed: a job of the daemon failed as often as it is tried; its scope is "job KIND ACCOUNT".
alter table keywarden.incident add constraint incident_kind_check
  check (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed'));
-- Forgets slots and attempts at jobs that nobody asks for any more.
create function keywarden.forget_old_jobs(before interval) returns void
language sql security definer set search_path = keywarden, pg_temp as $$
  delete from job_run where started_at < now() - greatest(before, interval '30 days');
  delete from schedule_slot s where s.slot_at < now() - greatest(before, interval '30 days')
    and exists (select from schedule_slot l where l.schedule = s.schedule and l.slot_at > s.slot_at);
$$;
grant select on keywarden.schedule_slot, keywarden.job_run, keywarden.work_fence, keywarden.request_budget
  to keywarden_daemon, keywarden_report;
grant insert on keywarden.schedule_slot, keywarden.job_run, keywarden.work_fence, keywarden.request_budget to keywarden_daemon;
grant update (finished_at, outcome, error) on keywarden.job_run to keywarden_daemon;
grant update (jobs) on keywarden.schedule_slot to keywarden_daemon;
grant update on keywarden.work_fence, keywarden.request_budget to keywarden_daemon;
grant execute on function keywarden.hold_fence(text, bigint), keywarden.save_request_budgets(text[], bigint[], jsonb[]),
  keywarden.forget_old_jobs(interval) to keywarden_daemon;
-- As it was, in words that a distributed table takes, too: each statement on operations names their project, and no row is taken whole.
create or replace function keywarden.save_operation_page(
  project bigint, ids uuid[], branch_ids text[], endpoint_ids text[], actions text[], statuses text[], failures_counts bigint[],
  errors text[], retry_ats timestamptz[], created_ats timestamptz[], updated_ats timestamptz[], durations bigint[], extras jsonb[],
  oldest timestamptz, newest timestamptz, proved tstzrange, began timestamptz, walk_floor timestamptz, next_cursor text, next_below timestamptz, reached timestamptz, is_end boolean,
  out inserted int, out changed int
)
language plpgsql security definer set search_path = keywarden, pg_temp as $$
begin
  -- Two connections may see one project: the later writer must see what the earlier one wrote. Not by the project's row: where that is a
  -- reference table of Citus all projects would wait for each other.
  perform pg_advisory_xact_lock(hashtextextended('operations of project ' || project, 2));
  perform 1 from project p where p.number = project;
  if not found then
    raise exception 'there is no project %', project using errcode = 'foreign_key_violation';
  end if;
  perform 1 from operation o where o.project_number = project and o.created_at between oldest and newest limit 1;
  if not found then
    -- A first walk: nothing to compare with, which is half the work.
    insert into operation (project_number, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra)
    select project, * from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras);
    get diagnostics inserted = row_count;
    changed := 0;
  else
  with incoming as materialized (
    select * from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras) as t(id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra)
  ), differing as materialized (
    select i.*, o.id is null as is_new, o.branch_id as old_branch_id, o.endpoint_id as old_endpoint_id, o.action as old_action,
      o.status as old_status, o.failures_count as old_failures_count, o.error as old_error, o.retry_at as old_retry_at,
      o.updated_at as old_updated_at, o.total_duration_ms as old_total_duration_ms, o.extra as old_extra, o.seen_at as old_seen_at
    from incoming i
      left join operation o on o.project_number = project and o.created_at = i.created_at and o.id = i.id
        and o.created_at between oldest and newest
    where o.id is null or i.updated_at >= o.updated_at
      and (o.branch_id, o.endpoint_id, o.action, o.status, o.failures_count, o.error, o.retry_at, o.updated_at, o.total_duration_ms, o.extra)
        is distinct from (i.branch_id, i.endpoint_id, i.action, i.status, i.failures_count, i.error, i.retry_at, i.updated_at,
          i.total_duration_ms, i.extra)
  ), kept as (
    insert into operation_version (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error,
      retry_at, updated_at, total_duration_ms, extra, seen_at)
    select project, created_at, id, old_branch_id, old_endpoint_id, old_action, old_status, old_failures_count, old_error, old_retry_at,
      old_updated_at, old_total_duration_ms, old_extra, old_seen_at
    from differing where not is_new
  ), replaced as (
    update operation o set branch_id = d.branch_id, endpoint_id = d.endpoint_id, action = d.action, status = d.status,
      failures_count = d.failures_count, error = d.error, retry_at = d.retry_at, updated_at = d.updated_at,
      total_duration_ms = d.total_duration_ms, extra = d.extra, seen_at = now()
    from differing d
    where not d.is_new and o.project_number = project and o.created_at = d.created_at and o.id = d.id
      and o.created_at between oldest and newest
  ), added as (
    insert into operation (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at,
      updated_at, total_duration_ms, extra)
    select project, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, updated_at,
      total_duration_ms, extra
    from differing where is_new
  )
  select count(*) filter (where is_new), count(*) filter (where not is_new) into inserted, changed from differing;
  end if;
  if proved is not null then
    insert into operation_coverage as c values (project, tstzmultirange(proved))
    on conflict (project_number) do update set known = c.known + excluded.known where not c.known @> proved;
  end if;
  if began is null then
    return;
  end if;
  if next_cursor is not null then
    insert into open_walk values (project, began, walk_floor, next_cursor, next_below)
    on conflict (project_number) do update set began_at = excluded.began_at, floor = excluded.floor, cursor = excluded.cursor,
      below = excluded.below;
    return;
  end if;
  delete from open_walk w where w.project_number = project;
  update project p set walked_at = greatest(p.walked_at, began) where p.number = project;
  insert into completed_walk values (project, (began at time zone 'UTC')::date, is_end, began, reached)
  on conflict (project_number, day, to_end) do update set began_at = excluded.began_at, reached = excluded.reached;
end
$$;
-- A function is everybody's until that is taken from it; what was granted by name stays.
revoke execute on all functions in schema keywarden from public;

-- Of a table and its indexes; of one that Citus has distributed over all nodes.
create function keywarden.table_bytes(measured regclass) returns bigint
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  is_distributed boolean := false;
  bytes bigint := pg_total_relation_size(measured);
begin
  -- By their schema: of a name that is nowhere else a caller could make one of its own, and this runs as the owner.
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    execute 'select exists (select from pg_catalog.pg_dist_partition where logicalrelid = $1)' into is_distributed using measured;
  end if;
  if is_distributed then
    execute 'select pg_catalog.citus_total_relation_size($1)' into bytes using measured;
  end if;
  return bytes;
end
$$;
-- As it was, but for the sizes.
create or replace function keywarden.announce_operation_drops() returns setof keywarden.operation_drop
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  name text;
  first date;
  found_rows bigint;
begin
  -- The retention may have been lengthened since.
  delete from operation_drop d where d.dropped_at is null and not exists (
    select from operation_retention r where (d.month + interval '1 month') at time zone 'UTC' <= now() - r.keep);
  for name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'keywarden.operation'::regclass and c.relname ~ '^operation_\d{4}_\d\d$' order by c.relname
  loop
    first := to_date(right(name, 7), 'YYYY_MM');
    continue when not exists (
      select from operation_retention r where (first + interval '1 month') at time zone 'UTC' <= now() - r.keep
    );
    execute format('select count(*) from keywarden.%I', name) into found_rows;
    insert into operation_drop (month, operations, bytes)
    values (first, found_rows, table_bytes(format('keywarden.%I', name)::regclass)
      + table_bytes(format('keywarden.%I', replace(name, 'operation_', 'operation_version_'))::regclass))
    on conflict (month) do update set operations = excluded.operations, bytes = excluded.bytes,
      announced_at = case when operation_drop.dropped_at is null then operation_drop.announced_at else now() end,
      dropped_at = null, dropped_by = null;
  end loop;
  return query select * from operation_drop where dropped_at is null order by month;
end
$$;
-- As it was, but that what changes rows on the way gives something back, which a cluster asks of a part of a statement.
create or replace function keywarden.save_operation_page(
  project bigint, ids uuid[], branch_ids text[], endpoint_ids text[], actions text[], statuses text[], failures_counts bigint[],
  errors text[], retry_ats timestamptz[], created_ats timestamptz[], updated_ats timestamptz[], durations bigint[], extras jsonb[],
  oldest timestamptz, newest timestamptz, proved tstzrange, began timestamptz, walk_floor timestamptz, next_cursor text, next_below timestamptz, reached timestamptz, is_end boolean,
  out inserted int, out changed int
)
language plpgsql security definer set search_path = keywarden, pg_temp as $$
begin
  -- Two connections may see one project: the later writer must see what the earlier one wrote. Not by the project's row: where that is a
  -- reference table of Citus all projects would wait for each other.
  perform pg_advisory_xact_lock(hashtextextended('operations of project ' || project, 2));
  perform 1 from project p where p.number = project;
  if not found then
    raise exception 'there is no project %', project using errcode = 'foreign_key_violation';
  end if;
  perform 1 from operation o where o.project_number = project and o.created_at between oldest and newest limit 1;
  if not found then
    -- A first walk: nothing to compare with, which is half the work.
    insert into operation (project_number, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra)
    select project, * from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras);
    get diagnostics inserted = row_count;
    changed := 0;
  else
  with incoming as materialized (
    select * from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras) as t(id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra)
  ), differing as materialized (
    select i.*, o.id is null as is_new, o.branch_id as old_branch_id, o.endpoint_id as old_endpoint_id, o.action as old_action,
      o.status as old_status, o.failures_count as old_failures_count, o.error as old_error, o.retry_at as old_retry_at,
      o.updated_at as old_updated_at, o.total_duration_ms as old_total_duration_ms, o.extra as old_extra, o.seen_at as old_seen_at
    from incoming i
      left join operation o on o.project_number = project and o.created_at = i.created_at and o.id = i.id
        and o.created_at between oldest and newest
    where o.id is null or i.updated_at >= o.updated_at
      and (o.branch_id, o.endpoint_id, o.action, o.status, o.failures_count, o.error, o.retry_at, o.updated_at, o.total_duration_ms, o.extra)
        is distinct from (i.branch_id, i.endpoint_id, i.action, i.status, i.failures_count, i.error, i.retry_at, i.updated_at,
          i.total_duration_ms, i.extra)
  ), kept as (
    insert into operation_version (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error,
      retry_at, updated_at, total_duration_ms, extra, seen_at)
    select project, created_at, id, old_branch_id, old_endpoint_id, old_action, old_status, old_failures_count, old_error, old_retry_at,
      old_updated_at, old_total_duration_ms, old_extra, old_seen_at
    from differing where not is_new
    returning 1
  ), replaced as (
    update operation o set branch_id = d.branch_id, endpoint_id = d.endpoint_id, action = d.action, status = d.status,
      failures_count = d.failures_count, error = d.error, retry_at = d.retry_at, updated_at = d.updated_at,
      total_duration_ms = d.total_duration_ms, extra = d.extra, seen_at = now()
    from differing d
    where not d.is_new and o.project_number = project and o.created_at = d.created_at and o.id = d.id
      and o.created_at between oldest and newest
    returning 1
  ), added as (
    insert into operation (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at,
      updated_at, total_duration_ms, extra)
    select project, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, updated_at,
      total_duration_ms, extra
    from differing where is_new
    returning 1
  )
  select count(*) filter (where is_new), count(*) filter (where not is_new) into inserted, changed from differing;
  end if;
  if proved is not null then
    insert into operation_coverage as c values (project, tstzmultirange(proved))
    on conflict (project_number) do update set known = c.known + excluded.known where not c.known @> proved;
  end if;
  if began is null then
    return;
  end if;
  if next_cursor is not null then
    insert into open_walk values (project, began, walk_floor, next_cursor, next_below)
    on conflict (project_number) do update set began_at = excluded.began_at, floor = excluded.floor, cursor = excluded.cursor,
      below = excluded.below;
    return;
  end if;
  delete from open_walk w where w.project_number = project;
  update project p set walked_at = greatest(p.walked_at, began) where p.number = project;
  insert into completed_walk values (project, (began at time zone 'UTC')::date, is_end, began, reached)
  on conflict (project_number, day, to_end) do update set began_at = excluded.began_at, reached = excluded.reached;
end
$$;
-- Forgets who asked the report for what, if that is longer ago than this, and than a year: whoever has the daemon's role wipes out no tracks.
create function keywarden.forget_accesses(before interval) returns bigint
language sql security definer set search_path = keywarden, pg_temp as $$
  with gone as (
    delete from access_log where at < now() - greatest(before, interval '365 days') returning 1
  )
  select count(*) from gone;
$$;
grant execute on function keywarden.forget_accesses(interval) to keywarden_daemon;
-- A function is everybody's until that is taken from it; what was granted by name stays.
revoke execute on all functions in schema keywarden from public;

-- A record whose creation time, creator or kind has changed is another key that has the same id: the row of the earlier one stays as it was,
-- superseded and gone, and the id gets a row of its own (docs/adr/0018).
alter table keywarden.key add column superseded_at timestamptz;
alter table keywarden.key drop constraint key_control_plane_number_scope_id_key;
create unique index key_by_id on keywarden.key (control_plane_number, scope, id) where superseded_at is null;
create index key_superseded on keywarden.key (control_plane_number, scope, id) where superseded_at is not null;
alter table keywarden.incident drop constraint incident_kind_check;
-- key_changed: an id that a listing shows with another creation time, creator or kind. Neither key goes until a person has looked.
-- configuration: a daemon whose configuration file cannot be used any more judges and revokes nothing.
alter table keywarden.incident add constraint incident_kind_check
  check (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed', 'key_changed',
    'configuration'));
drop index keywarden.incident_open_of_rotation;
create unique index incident_open_of_key on keywarden.incident (kind, key_number)
  where closed_at is null and kind in ('rotation_stalled', 'orphan', 'key_changed');
-- A successor is a key with its id: not the one that had it before, or has it since.
create or replace view keywarden.key_line with (security_invoker = true) as
  select k.number as key_number, r.line_number, r.number as rotation_number
  from keywarden.rotation_mint m
    join keywarden.rotation r on r.number = m.rotation_number
    join keywarden.key o on o.number = r.key_number
    join keywarden.key k on k.control_plane_number = o.control_plane_number and k.scope = o.scope and k.id = m.key_id
      and k.superseded_at is null
  where m.fate is distinct from 'lost' and (m.fate is not null or r.ended_at is null);

-- An operation is the same by its id and the second of its creation: lists and single answers may bear other numbers of digits. It keeps the time
-- that it was stored with. And one that has ended has ended, whatever `updated_at` says: an answer of a replica that lags does not open it again,
-- and clocks of two servers may differ by more than the work took.
create or replace function keywarden.save_operation_page(
  project bigint, ids uuid[], branch_ids text[], endpoint_ids text[], actions text[], statuses text[], failures_counts bigint[],
  errors text[], retry_ats timestamptz[], created_ats timestamptz[], updated_ats timestamptz[], durations bigint[], extras jsonb[],
  oldest timestamptz, newest timestamptz, proved tstzrange, began timestamptz, walk_floor timestamptz, next_cursor text, next_below timestamptz, reached timestamptz, is_end boolean,
  out inserted int, out changed int
)
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  since timestamptz := date_trunc('second', oldest);
  until timestamptz := newest + interval '1 second';
  terminal constant text[] := '{finished,cancelled,skipped}';
begin
  -- Two connections may see one project: the later writer must see what the earlier one wrote. Not by the project's row: where that is a
  -- reference table of Citus all projects would wait for each other.
  perform pg_advisory_xact_lock(hashtextextended('operations of project ' || project, 2));
  perform 1 from project p where p.number = project;
  if not found then
    raise exception 'there is no project %', project using errcode = 'foreign_key_violation';
  end if;
  perform 1 from operation o where o.project_number = project and o.created_at between since and until limit 1;
  if not found then
    -- A first walk: nothing to compare with, which is half the work.
    insert into operation (project_number, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra)
    select project, * from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras);
    get diagnostics inserted = row_count;
    changed := 0;
  else
  with incoming as materialized (
    select * from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras) as t(id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra)
  ), differing as materialized (
    select i.*, o.id is null as is_new, o.created_at as old_created_at, o.branch_id as old_branch_id, o.endpoint_id as old_endpoint_id, o.action as old_action,
      o.status as old_status, o.failures_count as old_failures_count, o.error as old_error, o.retry_at as old_retry_at,
      o.updated_at as old_updated_at, o.total_duration_ms as old_total_duration_ms, o.extra as old_extra, o.seen_at as old_seen_at
    from incoming i
      left join operation o on o.project_number = project and o.id = i.id and o.created_at between since and until
        and date_trunc('second', o.created_at) = date_trunc('second', i.created_at)
    where o.id is null
      or case when (i.status = any(terminal)) = (o.status = any(terminal)) then i.updated_at >= o.updated_at else i.status = any(terminal) end
      and (o.branch_id, o.endpoint_id, o.action, o.status, o.failures_count, o.error, o.retry_at, o.updated_at, o.total_duration_ms, o.extra)
        is distinct from (i.branch_id, i.endpoint_id, i.action, i.status, i.failures_count, i.error, i.retry_at, i.updated_at,
          i.total_duration_ms, i.extra)
  ), kept as (
    insert into operation_version (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error,
      retry_at, updated_at, total_duration_ms, extra, seen_at)
    select project, old_created_at, id, old_branch_id, old_endpoint_id, old_action, old_status, old_failures_count, old_error, old_retry_at,
      old_updated_at, old_total_duration_ms, old_extra, old_seen_at
    from differing where not is_new
    returning 1
  ), replaced as (
    update operation o set branch_id = d.branch_id, endpoint_id = d.endpoint_id, action = d.action, status = d.status,
      failures_count = d.failures_count, error = d.error, retry_at = d.retry_at, updated_at = d.updated_at,
      total_duration_ms = d.total_duration_ms, extra = d.extra, seen_at = now()
    from differing d
    where not d.is_new and o.project_number = project and o.created_at = d.old_created_at and o.id = d.id
      and o.created_at between since and until
    returning 1
  ), added as (
    insert into operation (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at,
      updated_at, total_duration_ms, extra)
    select project, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, updated_at,
      total_duration_ms, extra
    from differing where is_new
    returning 1
  )
  select count(*) filter (where is_new), count(*) filter (where not is_new) into inserted, changed from differing;
  end if;
  if proved is not null then
    insert into operation_coverage as c values (project, tstzmultirange(proved))
    on conflict (project_number) do update set known = c.known + excluded.known where not c.known @> proved;
  end if;
  if began is null then
    return;
  end if;
  if next_cursor is not null then
    insert into open_walk values (project, began, walk_floor, next_cursor, next_below)
    on conflict (project_number) do update set began_at = excluded.began_at, floor = excluded.floor, cursor = excluded.cursor,
      below = excluded.below;
    return;
  end if;
  delete from open_walk w where w.project_number = project;
  update project p set walked_at = greatest(p.walked_at, began) where p.number = project;
  insert into completed_walk values (project, (began at time zone 'UTC')::date, is_end, began, reached)
  on conflict (project_number, day, to_end) do update set began_at = excluded.began_at, reached = excluded.reached;
end
$$;
-- A function is everybody's until that is taken from it; what was granted by name stays.
revoke execute on all functions in schema keywarden from public;

-- What persons say through the report (exemptions, approvals, reviews) moves the mark too: a store that was restored from before it is an older one.
alter table keywarden.high_water_mark add column made_by text not null default 'daemon' check (made_by in ('daemon', 'report'));
grant insert on keywarden.high_water_mark to keywarden_report;
create function keywarden.report_older_store() returns void
language sql security definer set search_path = keywarden, pg_temp as $$
  insert into incident (kind, scope, detail)
  select 'high_water_mark', '', '{"why": "the store lacks the last mark of a report"}'
  where not exists (select from incident where kind = 'high_water_mark' and closed_at is null);
$$;
-- A function is everybody's until that is taken from it; what was granted by name stays.
revoke execute on all functions in schema keywarden from public;
grant execute on function keywarden.report_older_store() to keywarden_report;

-- What policy each replica goes by, said again every minute; null: its configuration file cannot be used, and why. While replicas that are heard
-- of differ, nothing is revoked or rotated by itself.
create table keywarden.replica_policy (
  replica uuid primary key,
  policy_sha256 text,
  why text,
  said_at timestamptz not null default now(),
  check ((policy_sha256 is null) = (why is not null))
);
grant select on keywarden.replica_policy to keywarden_daemon;
grant insert, update, delete on keywarden.replica_policy to keywarden_daemon;

-- Rows of lists that cannot be read, apart from the others. list: whose rows; place: the scope, organization or project that was asked for.
create table keywarden.rejected_row (
  number bigint generated always as identity primary key,
  control_plane_number bigint not null references keywarden.control_plane,
  list text not null check (list in ('organizations', 'members', 'keys', 'projects', 'operations')),
  place text not null,
  row_id text,
  why text not null,
  record jsonb not null,
  -- Its id, or where it has none the hash of its shape: one that comes with other values is the same.
  row_key text not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  times bigint not null default 1,
  unique (control_plane_number, list, place, row_key)
);
create index rejected_row_by_time on keywarden.rejected_row (last_seen_at);
grant select on keywarden.rejected_row to keywarden_daemon;
-- That there are some is all that the report needs.
grant select (control_plane_number, list, place) on keywarden.rejected_row to keywarden_report;
grant insert, delete, update (why, record, last_seen_at, times) on keywarden.rejected_row to keywarden_daemon;
-- The same record, whichever scope's list shows it.
create index key_by_record on keywarden.key (control_plane_number, id);
alter table keywarden.incident drop constraint incident_kind_check;
-- listing_doubted: for over a day no listing of a scope could be believed.
alter table keywarden.incident add constraint incident_kind_check
  check (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed', 'key_changed',
    'configuration', 'listing_doubted'));
-- When a walk went down for the holes of a project's coverage last, by the control plane's clock.
alter table keywarden.project add column hole_tried_at timestamptz;
grant update (hole_tried_at) on keywarden.project to keywarden_daemon;

-- deleted_at: when the control plane deleted the project, as its list of projects that can be recovered says; null where only its absence is known.
-- walk_refused_at: when it answered that the operations of the deleted project are not there.
alter table keywarden.project add column deleted_at timestamptz, add column walk_refused_at timestamptz;
grant update (deleted_at, walk_refused_at) on keywarden.project to keywarden_daemon;

-- The order of operations that bear one time, as lists show them: the higher, the newer. With times in whole seconds many do.
alter table keywarden.operation add column place int not null default 0;
create or replace function keywarden.save_operation_page(
  project bigint, ids uuid[], branch_ids text[], endpoint_ids text[], actions text[], statuses text[], failures_counts bigint[],
  errors text[], retry_ats timestamptz[], created_ats timestamptz[], updated_ats timestamptz[], durations bigint[], extras jsonb[],
  oldest timestamptz, newest timestamptz, proved tstzrange, began timestamptz, walk_floor timestamptz, next_cursor text, next_below timestamptz, reached timestamptz, is_end boolean,
  out inserted int, out changed int
)
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  since timestamptz := date_trunc('second', oldest);
  until timestamptz := newest + interval '1 second';
  terminal constant text[] := '{finished,cancelled,skipped}';
begin
  -- Two connections may see one project: the later writer must see what the earlier one wrote. Not by the project's row: where that is a
  -- reference table of Citus all projects would wait for each other.
  perform pg_advisory_xact_lock(hashtextextended('operations of project ' || project, 2));
  perform 1 from project p where p.number = project;
  if not found then
    raise exception 'there is no project %', project using errcode = 'foreign_key_violation';
  end if;
  perform 1 from operation o where o.project_number = project and o.created_at between since and until limit 1;
  if not found then
    -- A first walk: nothing to compare with, which is half the work.
    insert into operation (project_number, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra, place)
    select project, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at, updated_at, total_duration_ms,
      extra, row_number() over (partition by created_at order by row) - 1
    from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats, updated_ats, durations,
      extras) with ordinality as t(id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at, updated_at,
      total_duration_ms, extra, row);
    get diagnostics inserted = row_count;
    changed := 0;
  else
  with incoming as materialized (
    select t.*, row_number() over (partition by created_at order by row) - 1 as place
    from unnest(ids, branch_ids, endpoint_ids, actions, statuses, failures_counts, errors, retry_ats, created_ats,
      updated_ats, durations, extras) with ordinality as t(id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, created_at,
      updated_at, total_duration_ms, extra, row)
  ), differing as materialized (
    select i.*, o.id is null as is_new, o.created_at as old_created_at, o.branch_id as old_branch_id, o.endpoint_id as old_endpoint_id, o.action as old_action,
      o.status as old_status, o.failures_count as old_failures_count, o.error as old_error, o.retry_at as old_retry_at,
      o.updated_at as old_updated_at, o.total_duration_ms as old_total_duration_ms, o.extra as old_extra, o.seen_at as old_seen_at
    from incoming i
      left join operation o on o.project_number = project and o.id = i.id and o.created_at between since and until
        and date_trunc('second', o.created_at) = date_trunc('second', i.created_at)
    where o.id is null
      or case when (i.status = any(terminal)) = (o.status = any(terminal)) then i.updated_at >= o.updated_at else i.status = any(terminal) end
      and (o.branch_id, o.endpoint_id, o.action, o.status, o.failures_count, o.error, o.retry_at, o.updated_at, o.total_duration_ms, o.extra)
        is distinct from (i.branch_id, i.endpoint_id, i.action, i.status, i.failures_count, i.error, i.retry_at, i.updated_at,
          i.total_duration_ms, i.extra)
  ), kept as (
    insert into operation_version (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error,
      retry_at, updated_at, total_duration_ms, extra, seen_at)
    select project, old_created_at, id, old_branch_id, old_endpoint_id, old_action, old_status, old_failures_count, old_error, old_retry_at,
      old_updated_at, old_total_duration_ms, old_extra, old_seen_at
    from differing where not is_new
    returning 1
  ), replaced as (
    update operation o set branch_id = d.branch_id, endpoint_id = d.endpoint_id, action = d.action, status = d.status,
      failures_count = d.failures_count, error = d.error, retry_at = d.retry_at, updated_at = d.updated_at,
      total_duration_ms = d.total_duration_ms, extra = d.extra, seen_at = now()
    from differing d
    where not d.is_new and o.project_number = project and o.created_at = d.old_created_at and o.id = d.id
      and o.created_at between since and until
    returning 1
  ), added as (
    insert into operation (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at,
      updated_at, total_duration_ms, extra, place)
    select project, created_at, id, branch_id, endpoint_id, action, status, failures_count, error, retry_at, updated_at,
      total_duration_ms, extra, place
    from differing where is_new
    returning 1
  )
  select count(*) filter (where is_new), count(*) filter (where not is_new) into inserted, changed from differing;
  -- A page that shows more of an instant than the one before: what lies higher in the list goes up.
  update operation o set place = i.place
  from (
    select t.*, row_number() over (partition by created_at order by row) - 1 as place
    from unnest(ids, created_ats) with ordinality as t(id, created_at, row)
  ) i
  where i.place > 0 and o.project_number = project and o.created_at = i.created_at and o.id = i.id and o.place < i.place;
  end if;
  if proved is not null then
    insert into operation_coverage as c values (project, tstzmultirange(proved))
    on conflict (project_number) do update set known = c.known + excluded.known where not c.known @> proved;
  end if;
  if began is null then
    return;
  end if;
  if next_cursor is not null then
    insert into open_walk values (project, began, walk_floor, next_cursor, next_below)
    on conflict (project_number) do update set began_at = excluded.began_at, floor = excluded.floor, cursor = excluded.cursor,
      below = excluded.below;
    return;
  end if;
  delete from open_walk w where w.project_number = project;
  update project p set walked_at = greatest(p.walked_at, began) where p.number = project;
  insert into completed_walk values (project, (began at time zone 'UTC')::date, is_end, began, reached)
  on conflict (project_number, day, to_end) do update set began_at = excluded.began_at, reached = excluded.reached;
end
$$;

-- Keys and other credentials (roles with a password, permissions of projects, members, key sets, credentials of branches) are observed in one way
-- and in one table; keywarden.key shows the API keys among them. Ids are text: those of keys are int64, those of others are not (docs/adr/0019).
drop view keywarden.key_line, keywarden.key_owner_now, keywarden.blind_spot;
alter table keywarden.key rename to credential;
alter table keywarden.credential alter column id type text;
alter table keywarden.connection alter column own_key_id type text;
alter table keywarden.own_key alter column key_id type text;
alter table keywarden.replica_credential alter column key_id type text;
alter table keywarden.rotation_mint alter column key_id type text;
-- holder: who may get in by it, where its record says. expires_at: null for one that does not expire.
alter table keywarden.credential add column branch_id text, add column holder text, add column expires_at timestamptz;
alter table keywarden.credential drop constraint key_kind_check;
alter table keywarden.credential add constraint credential_kind_check check (kind in ('personal', 'organization', 'project',
  'branch_credential', 'role', 'project_permission', 'project_member', 'jwks'));
create index other_credential on keywarden.credential (number) where kind not in ('personal', 'organization', 'project');
create index other_credential_by_project on keywarden.credential (control_plane_number, project_id)
  where kind not in ('personal', 'organization', 'project');
create view keywarden.key with (security_invoker = true) as
  select number, control_plane_number, scope, id, kind, organization_id, project_id, name, creator_id, creator_name, created_at, last_used_at,
    last_used_from, use_went_back, extra, first_seen_at, missing_since, gone_at, present_since, superseded_at
  from keywarden.credential where kind in ('personal', 'organization', 'project');
-- The line of each key that succeeded another. A successor is a key with its id: not the one that had it before, or has it since.
create view keywarden.key_line with (security_invoker = true) as
  select k.number as key_number, r.line_number, r.number as rotation_number
  from keywarden.rotation_mint m
    join keywarden.rotation r on r.number = m.rotation_number
    join keywarden.key o on o.number = r.key_number
    join keywarden.key k on k.control_plane_number = o.control_plane_number and k.scope = o.scope and k.id = m.key_id
      and k.superseded_at is null
  where m.fate is distinct from 'lost' and (m.fate is not null or r.ended_at is null);
-- Who answers for each credential now, and for its line: whom it, or another of its line, was assigned to last, else its line's creator, else
-- the owner of its project. It says what key_line says, key by key: each step is by a unique index, for a planner that has seen no statistics
-- begins with all keys of a scope.
create view keywarden.key_owner_now with (security_invoker = true) as
  select k.number as key_number, f.number as line_number, coalesce(
      (select o.owner from keywarden.key_owner o where o.key_number = f.number or o.key_number = any(array(
          select (select s.number from keywarden.key s
            where s.control_plane_number = f.control_plane_number and s.scope = f.scope and s.id = m.key_id)
          from keywarden.rotation r join keywarden.rotation_mint m on m.rotation_number = r.number
          where r.line_number = f.number and m.fate is distinct from 'lost' and (m.fate is not null or r.ended_at is null)))
       order by o.number desc limit 1),
      (select m.email from keywarden.member m where m.control_plane_number = k.control_plane_number and m.user_id = a.user_id
       order by m.left_at is null desc, m.last_seen_at desc, m.email limit 1),
      a.user_id) as owner
  from keywarden.credential k
    left join lateral (
      select r.line_number from (select m.rotation_number, m.fate from keywarden.rotation_mint m
          where m.key_id = k.id and m.fate is distinct from 'lost' offset 0) m
        join keywarden.rotation r on r.number = m.rotation_number
      where (m.fate is not null or r.ended_at is null) and (select (o.control_plane_number, o.scope) = (k.control_plane_number, k.scope)
        from keywarden.key o where o.number = r.key_number)
      order by r.number limit 1) l on true
    join keywarden.credential f on f.number = coalesce(l.line_number, k.number)
    cross join lateral (select case when f.creator_id <> 'unknown' or f.kind in ('personal', 'organization', 'project') then f.creator_id
      else coalesce((select p.owner_id from keywarden.project p where p.control_plane_number = f.control_plane_number and p.id = f.project_id),
        f.creator_id) end as user_id) a;
create view keywarden.blind_spot with (security_invoker = true) as
  select m.control_plane_number, 'organization:' || m.organization_id as scope, null::text as connection, 'personal_keys' as kind,
    count(*)::int as members, null::timestamptz as since
  from keywarden.member m where m.left_at is null and not exists (select from keywarden.connection c
    where c.control_plane_number = m.control_plane_number and c.account_id = m.user_id and c.removed_at is null)
  group by m.control_plane_number, m.organization_id
  union all
  select o.control_plane_number, 'organization:' || o.id, null, 'members_unknown', null, null from keywarden.organization o
  where not exists (select from keywarden.member_listing l where l.control_plane_number = o.control_plane_number and l.organization_id = o.id)
  union all
  select l.control_plane_number, l.scope, null, 'listing_old', null, l.listed_at
  from (select control_plane_number, scope, max(listed_at) as listed_at from keywarden.key_listing
      where doubt is null and split_part(scope, ':', 1) in ('user', 'organization') group by control_plane_number, scope) l
    join keywarden.control_plane_present p on p.control_plane_number = l.control_plane_number
  where l.listed_at < p.at - interval '1 day'
  union all
  select c.control_plane_number, null, c.name, 'own_key_unknown', null, c.checked_at from keywarden.connection c
  where c.own_key_id is null and c.removed_at is null;
grant select on keywarden.key, keywarden.key_line, keywarden.key_owner_now, keywarden.blind_spot to keywarden_daemon, keywarden_report;
alter table keywarden.sync_run drop constraint sync_run_kind_check;
alter table keywarden.sync_run add constraint sync_run_kind_check check (kind in ('keys', 'operations', 'credentials'));
alter table keywarden.rejected_row drop constraint rejected_row_list_check;
alter table keywarden.rejected_row add constraint rejected_row_list_check
  check (list in ('organizations', 'members', 'keys', 'projects', 'operations', 'credentials'));

insert into keywarden.migration (hash, created_at) values
  ('9f6cc41fbd689565d07b9de2011cc88c4b0836dacd27fad848a3824687fdbeaf', 1795254000000),
  ('baa1ceed46f5908eeb5c1397c5186843e0435bd73dc706f0278dd18e24d6d7ee', 1795254000001),
  ('e91d5f5e0ce7c8ec94065d39b6427a5d0def23aa4729992bcb86c3a6ba704bd9', 1795254000002),
  ('627a0d08346ca4982f56c50c86d3d7798f92a3ecab2c93b14865259a396efb90', 1795254000003),
  ('6e3a6dba8048ef0078cced2c575a6ed55769b49805947b5bddf6a01a5f230648', 1795254000004),
  ('635283912b169e501b00038915599c07629d1968e3ac57b393fa423a7ccd6903', 1795254000005),
  ('6b3860da9c0d53f9f6d8a8c23ddcf6af1620ca60682d4df424e05bca92e0f3f8', 1795254000006),
  ('e259c61c91a71c9c185169ccf2310811693bd2b7affcf7446fe00d4f58f94d40', 1795254000007),
  ('5209d423107b863efa5bfe9996805b9b5e47b554f64e5efcf3ca3f827a645f65', 1795254000008),
  ('4b33c72258817b0212c6b64025068808ba95180ad2755b80a0fb7ce3aa86db9f', 1795254000009),
  ('c2881ab762a5b50698ab3a56ae8205ceb57e063108740103cb0e9e15477e746c', 1795254000010),
  ('0fd6d57935466f3346584ac52a20968dafa1502db36dd0e9095e8c1b1160605e', 1795254000011),
  ('ce599804f3f207a6d51e8b6794f6ce35029d1513ac0fe5fce528d4b816f8a284', 1795254000012),
  ('efea385774d27f329d2343ad9e3195e32f4fb0ede92386faa67d0021edf5e7a7', 1795254000013),
  ('7e45c94ff77ba7eb9c2de4dd5ce17acf5e0e80ee5f82fe939dec9c884ef026b3', 1795254000014),
  ('7af7f91444550200ff961194567fefc8d3c5b4bc0b5981186f6d7263acc38607', 1795254000015);
