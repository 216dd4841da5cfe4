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
--> statement-breakpoint
create index rejected_row_by_time on keywarden.rejected_row (last_seen_at);
--> statement-breakpoint
grant select on keywarden.rejected_row to keywarden_daemon;
--> statement-breakpoint
-- That there are some is all that the report needs.
grant select (control_plane_number, list, place) on keywarden.rejected_row to keywarden_report;
--> statement-breakpoint
grant insert, delete, update (why, record, last_seen_at, times) on keywarden.rejected_row to keywarden_daemon;
--> statement-breakpoint
-- The same record, whichever scope's list shows it.
create index key_by_record on keywarden.key (control_plane_number, id);
--> statement-breakpoint
alter table keywarden.incident drop constraint incident_kind_check;
--> statement-breakpoint
-- listing_doubted: for over a day no listing of a scope could be believed.
alter table keywarden.incident add constraint incident_kind_check
  check (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed', 'key_changed',
    'configuration', 'listing_doubted'));
--> statement-breakpoint
-- When a walk went down for the holes of a project's coverage last, by the control plane's clock.
alter table keywarden.project add column hole_tried_at timestamptz;
--> statement-breakpoint
grant update (hole_tried_at) on keywarden.project to keywarden_daemon;
