-- Since which listing every believed one has shown the key. Of keys known before nobody wrote it down: the last listing is sure.
alter table keywarden.key add column present_since timestamptz;
--> statement-breakpoint
update keywarden.key set present_since = first_seen_at;
--> statement-breakpoint
update keywarden.key k set present_since = l.last from (
  select control_plane_number, scope, max(listed_at) as last from keywarden.key_listing where doubt is null
  group by control_plane_number, scope) l
where l.control_plane_number = k.control_plane_number and l.scope = k.scope;
--> statement-breakpoint
alter table keywarden.key alter column present_since set not null;
--> statement-breakpoint
create index key_listing_doubted on keywarden.key_listing (control_plane_number, scope, number desc) where doubt is not null;
--> statement-breakpoint
create index key_use_by_time on keywarden.key_use (last_used_at);
--> statement-breakpoint
-- Complete listings of an organization's members, and whether most members were suddenly absent (A7).
create table keywarden.member_listing (
  control_plane_number bigint not null references keywarden.control_plane,
  organization_id text not null,
  listed_at timestamptz not null,
  is_sudden boolean not null,
  primary key (control_plane_number, organization_id, listed_at)
);
--> statement-breakpoint
-- Own keys of connections, also those of before: while two replicas have different ones, both are in use (R2).
create table keywarden.own_key (
  connection text not null references keywarden.connection,
  key_id bigint not null,
  checked_at timestamptz not null default now(),
  primary key (connection, key_id)
);
--> statement-breakpoint
insert into keywarden.own_key (connection, key_id) select name, own_key_id from keywarden.connection where own_key_id is not null;
--> statement-breakpoint
-- Who answers for a key; the newest row counts, and one without an owner gives the key back to its creator.
create table keywarden.key_owner (
  number bigint generated always as identity primary key,
  key_number bigint not null references keywarden.key,
  owner text,
  source text not null check (source in ('import', 'assignment')),
  assigned_at timestamptz not null default now(),
  assigned_by text not null
);
--> statement-breakpoint
create index key_owner_by_key on keywarden.key_owner (key_number, number desc);
--> statement-breakpoint
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
--> statement-breakpoint
create table keywarden.exemption_key (
  exemption_number bigint not null references keywarden.exemption,
  key_number bigint not null references keywarden.key,
  primary key (exemption_number, key_number)
);
--> statement-breakpoint
create index exemption_key_by_key on keywarden.exemption_key (key_number);
--> statement-breakpoint
-- A finding that is being announced. It ends when the finding does; what comes back is announced anew (R9). basis: what it rests on.
create table keywarden.announcement (
  number bigint generated always as identity primary key,
  key_number bigint not null references keywarden.key,
  rule text not null,
  basis text not null,
  opened_at timestamptz not null default now(),
  ended_at timestamptz
);
--> statement-breakpoint
create unique index announcement_open on keywarden.announcement (key_number, rule) where ended_at is null;
--> statement-breakpoint
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
--> statement-breakpoint
create index notice_message_pending on keywarden.notice_message (number) where accepted_at is null and cancelled_at is null;
--> statement-breakpoint
create table keywarden.notice (
  announcement_number bigint not null references keywarden.announcement,
  step text not null,
  channel text not null,
  message_number bigint not null references keywarden.notice_message,
  primary key (announcement_number, step, channel, message_number)
);
--> statement-breakpoint
create index notice_by_message on keywarden.notice (message_number);
--> statement-breakpoint
-- Each policy that a plan was judged by, as it was parsed.
create table keywarden.policy_version (
  sha256 text primary key,
  document jsonb not null,
  first_used_at timestamptz not null default now()
);
--> statement-breakpoint
-- A mark is added here, and kept in a file outside, with whatever governs: a store that lacks the file's is an older one (R10).
create table keywarden.high_water_mark (
  number bigint generated always as identity unique,
  mark uuid primary key,
  made_at timestamptz not null default now()
);
--> statement-breakpoint
alter table keywarden.plan add column policy_sha256 text;
--> statement-breakpoint
alter table keywarden.finding drop constraint finding_action_check;
--> statement-breakpoint
alter table keywarden.finding add constraint finding_action_check check (action in ('report', 'notify', 'rotate', 'revoke'));
--> statement-breakpoint
alter table keywarden.finding add column hold_kind text;
--> statement-breakpoint
alter table keywarden.plan_approval drop constraint plan_approval_via_check;
--> statement-breakpoint
alter table keywarden.plan_approval add constraint plan_approval_via_check check (via in ('command line', 'report', 'enforcement'));
--> statement-breakpoint
-- judged_at: the control plane's present at which the key was judged; null for intents that are older than this column.
alter table keywarden.revocation_intent add column judged_at timestamptz;
--> statement-breakpoint
alter table keywarden.revocation_intent add column policy_sha256 text;
--> statement-breakpoint
create index revocation_intent_by_time on keywarden.revocation_intent ((coalesce(judged_at, created_at)));
--> statement-breakpoint
alter table keywarden.incident drop constraint incident_kind_check;
--> statement-breakpoint
alter table keywarden.incident add constraint incident_kind_check check (kind in ('used_in_flight', 'breaker', 'high_water_mark'));
--> statement-breakpoint
alter table keywarden.incident alter column key_number drop not null;
--> statement-breakpoint
-- control plane and scope, as plans name them; empty for what is of no scope.
alter table keywarden.incident add column scope text not null default '';
--> statement-breakpoint
update keywarden.incident c set scope = k.control_plane_number || '/' || k.scope from keywarden.key k where k.number = c.key_number;
--> statement-breakpoint
-- What is of a scope, and not of a key, is one incident while it is open.
create unique index incident_open_of_scope on keywarden.incident (kind, scope) where closed_at is null and key_number is null;
--> statement-breakpoint
-- An approval that is over. done: each of its items is, and what its plan condemns is acknowledged. stopped: it was not to go on. One of
-- the report's that is not here is tried again until it expires.
create table keywarden.approval_end (
  approval_number bigint primary key references keywarden.plan_approval,
  how text not null check (how in ('done', 'stopped')),
  at timestamptz not null default now()
);
--> statement-breakpoint
grant select on keywarden.approval_end to keywarden_daemon, keywarden_report;
--> statement-breakpoint
grant insert on keywarden.approval_end to keywarden_daemon;
--> statement-breakpoint
-- An approval by the report: an operator says yes to a plan that was made within a day, and the daemon carries it out within a day. Null
-- for another plan.
create function keywarden.approve_plan(approved_plan text, approver text) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as
$$ insert into keywarden.plan_approval (plan_id, approved_by, via)
  select id, approver, 'report' from keywarden.plan where id = approved_plan and last_made_at > now() - interval '24 hours' returning number $$;
--> statement-breakpoint
revoke execute on function keywarden.approve_plan(text, text) from public;
--> statement-breakpoint
grant execute on function keywarden.approve_plan(text, text) to keywarden_report;
--> statement-breakpoint
grant select on keywarden.key_owner, keywarden.exemption, keywarden.exemption_key, keywarden.announcement, keywarden.notice_message,
  keywarden.notice, keywarden.policy_version, keywarden.high_water_mark, keywarden.member_listing, keywarden.own_key to keywarden_daemon, keywarden_report;
--> statement-breakpoint
grant insert on keywarden.key_owner, keywarden.exemption_key, keywarden.notice, keywarden.policy_version, keywarden.high_water_mark,
  keywarden.member_listing to keywarden_daemon;
--> statement-breakpoint
grant insert, update (ended_at, ended_by) on keywarden.exemption to keywarden_daemon;
--> statement-breakpoint
grant insert, update (ended_at) on keywarden.announcement to keywarden_daemon;
--> statement-breakpoint
grant insert, update (attempts, last_error, accepted_at, cancelled_at) on keywarden.notice_message to keywarden_daemon;
--> statement-breakpoint
grant insert, update on keywarden.own_key to keywarden_daemon;
