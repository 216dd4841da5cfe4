-- While one is open nothing is revoked, by whatever replica (R7).
create table keywarden.pause (
  number bigint generated always as identity primary key,
  paused_at timestamptz not null default now(),
  paused_by text not null,
  reason text,
  resumed_at timestamptz,
  resumed_by text
);
--> statement-breakpoint
create unique index pause_open on keywarden.pause ((resumed_at is null)) where resumed_at is null;
--> statement-breakpoint
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
--> statement-breakpoint
grant select on keywarden.pause, keywarden.incident to keywarden_daemon, keywarden_report;
--> statement-breakpoint
grant insert, update (resumed_at, resumed_by) on keywarden.pause to keywarden_daemon;
--> statement-breakpoint
grant insert, update (closed_at, closed_by, note) on keywarden.incident to keywarden_daemon;
