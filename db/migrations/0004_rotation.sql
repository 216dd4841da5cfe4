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
--> statement-breakpoint
-- T4: one open rotation a line.
create unique index rotation_open on keywarden.rotation (line_number) where ended_at is null;
--> statement-breakpoint
create index rotation_by_key on keywarden.rotation (key_number);
--> statement-breakpoint
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
--> statement-breakpoint
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
--> statement-breakpoint
create index rotation_mint_by_place on keywarden.rotation_mint (place) where place is not null;
--> statement-breakpoint
create index key_by_name on keywarden.key (control_plane_number, scope, name) where gone_at is null;
--> statement-breakpoint
create index rotation_mint_by_key on keywarden.rotation_mint (key_id) where key_id is not null;
--> statement-breakpoint
-- What an operator asks for in the report; the daemon answers with a row of its own.
create table keywarden.rotation_request (
  number bigint generated always as identity primary key,
  key_number bigint not null references keywarden.key,
  requested_by text not null check (requested_by <> ''),
  reason text not null check (reason <> ''),
  requested_at timestamptz not null default now()
);
--> statement-breakpoint
create table keywarden.rotation_request_answer (
  request_number bigint primary key references keywarden.rotation_request,
  rotation_number bigint references keywarden.rotation,
  why_not text,
  answered_at timestamptz not null default now(),
  check ((rotation_number is null) = (why_not is not null))
);
--> statement-breakpoint
-- The times of a rule's own schedule that have come, by the control plane's clock, and whether all that was due has been begun.
create table keywarden.rotation_slot (
  control_plane_number bigint not null references keywarden.control_plane,
  rule text not null,
  slot timestamptz not null,
  begun_at timestamptz not null default now(),
  done_at timestamptz,
  primary key (control_plane_number, rule, slot)
);
--> statement-breakpoint
-- Which own key each process works with: an old one goes when all that live have the new one.
create table keywarden.replica_credential (
  replica uuid not null,
  connection text not null references keywarden.connection,
  key_id bigint not null,
  authenticated_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (replica, connection)
);
--> statement-breakpoint
-- The line of each key that succeeded another. Keys that are not here are lines of their own.
create view keywarden.key_line with (security_invoker = true) as
  select k.number as key_number, r.line_number, r.number as rotation_number
  from keywarden.rotation_mint m
    join keywarden.rotation r on r.number = m.rotation_number
    join keywarden.key o on o.number = r.key_number
    join keywarden.key k on k.control_plane_number = o.control_plane_number and k.scope = o.scope and k.id = m.key_id
  where m.fate is distinct from 'lost' and (m.fate is not null or r.ended_at is null);
--> statement-breakpoint
-- A key goes by a plan or by its rotation.
alter table keywarden.revocation_intent alter column plan_id drop not null;
--> statement-breakpoint
alter table keywarden.revocation_intent alter column approval_number drop not null;
--> statement-breakpoint
alter table keywarden.revocation_intent add column rotation_number bigint references keywarden.rotation;
--> statement-breakpoint
alter table keywarden.revocation_intent add constraint revocation_intent_cause check (
  (plan_id is null) = (approval_number is null) and (plan_id is null) = (rotation_number is not null));
--> statement-breakpoint
create index revocation_intent_by_rotation on keywarden.revocation_intent (rotation_number) where rotation_number is not null;
--> statement-breakpoint
alter table keywarden.notice_message add column incident_number bigint references keywarden.incident;
--> statement-breakpoint
create index notice_message_by_incident on keywarden.notice_message (incident_number) where incident_number is not null;
--> statement-breakpoint
alter table keywarden.incident drop constraint incident_kind_check;
--> statement-breakpoint
alter table keywarden.incident add constraint incident_kind_check
  check (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan'));
--> statement-breakpoint
create unique index incident_open_of_rotation on keywarden.incident (kind, key_number)
  where closed_at is null and kind in ('rotation_stalled', 'orphan');
--> statement-breakpoint
grant select on keywarden.rotation, keywarden.rotation_event, keywarden.rotation_mint, keywarden.rotation_request,
  keywarden.rotation_request_answer, keywarden.rotation_slot, keywarden.replica_credential, keywarden.key_line
  to keywarden_daemon, keywarden_report;
--> statement-breakpoint
grant insert on keywarden.rotation_event, keywarden.rotation_request_answer to keywarden_daemon;
--> statement-breakpoint
grant insert, update (done_at) on keywarden.rotation_slot to keywarden_daemon;
--> statement-breakpoint
-- An open incident may tell more than it did.
grant update (detail) on keywarden.incident to keywarden_daemon;
--> statement-breakpoint
grant insert, update (ended_at, given_up_by) on keywarden.rotation to keywarden_daemon;
--> statement-breakpoint
grant insert, update (key_id, fate, delivered_at, place) on keywarden.rotation_mint to keywarden_daemon;
--> statement-breakpoint
grant insert, update on keywarden.replica_credential to keywarden_daemon;
--> statement-breakpoint
-- The report asks, and does nothing else of a rotation.
grant insert (key_number, requested_by, reason) on keywarden.rotation_request to keywarden_report;
