create schema if not exists keywarden;
--> statement-breakpoint
create table keywarden.control_plane (
  number bigint generated always as identity primary key,
  base_url text not null unique,
  first_seen_at timestamptz not null default now()
);
--> statement-breakpoint
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
--> statement-breakpoint
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
--> statement-breakpoint
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
--> statement-breakpoint
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
--> statement-breakpoint
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
--> statement-breakpoint
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
--> statement-breakpoint
create index key_listing_by_scope on keywarden.key_listing (control_plane_number, scope, number desc);
--> statement-breakpoint
create table keywarden.connection_scope (
  connection text not null references keywarden.connection,
  control_plane_number bigint not null references keywarden.control_plane,
  scope text not null,
  seen_at timestamptz not null,
  primary key (connection, control_plane_number, scope)
);
--> statement-breakpoint
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
--> statement-breakpoint
-- What changed when: first_seen, changed (name, creator, project, unknown fields), missing, gone, back, revoked (by us).
create table keywarden.key_observation (
  number bigint generated always as identity primary key,
  key_number bigint not null references keywarden.key,
  run_number bigint references keywarden.sync_run,
  seen_at timestamptz not null,
  event text not null check (event in ('first_seen', 'changed', 'missing', 'gone', 'back', 'revoked')),
  record jsonb
);
--> statement-breakpoint
create index key_observation_by_key on keywarden.key_observation (key_number, number);
--> statement-breakpoint
-- The history of use that the control plane does not keep: one row a key, address and hour.
create table keywarden.key_use (
  key_number bigint not null references keywarden.key,
  hour timestamptz not null,
  address text not null,
  last_used_at timestamptz not null,
  primary key (key_number, hour, address)
);
--> statement-breakpoint
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
--> statement-breakpoint
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
--> statement-breakpoint
create index operation_open on keywarden.operation (project_number, created_at) where status not in ('finished', 'cancelled', 'skipped');
--> statement-breakpoint
create index operation_by_time on keywarden.operation (created_at desc, project_number desc, id desc);
--> statement-breakpoint
-- Operations that were going on when the control plane stopped to serve them: they are not asked for again.
create table keywarden.operation_pruned (
  project_number bigint not null,
  created_at timestamptz not null,
  id uuid not null,
  found_at timestamptz not null default now(),
  primary key (project_number, created_at, id)
);
--> statement-breakpoint
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
--> statement-breakpoint
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
--> statement-breakpoint
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
--> statement-breakpoint
create index finding_by_plan on keywarden.finding (plan_id, number);
--> statement-breakpoint
create table keywarden.plan_approval (
  number bigint generated always as identity primary key,
  plan_id text not null references keywarden.plan,
  approved_by text not null,
  via text not null check (via in ('command line')),
  approved_at timestamptz not null default now()
);
--> statement-breakpoint
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
--> statement-breakpoint
-- revoked: by us. gone: not there any more, and not known to be by us. not_revoked: still there. failed: refused.
create table keywarden.revocation_outcome (
  intent_number bigint primary key references keywarden.revocation_intent,
  outcome text not null check (outcome in ('revoked', 'gone', 'not_revoked', 'failed')),
  used_in_flight boolean not null default false,
  detail jsonb,
  at timestamptz not null default now()
);
--> statement-breakpoint
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
