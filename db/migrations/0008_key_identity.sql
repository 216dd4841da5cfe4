-- A record whose creation time, creator or kind has changed is another key that has the same id: the row of the earlier one stays as it was,
-- superseded and gone, and the id gets a row of its own (docs/adr/0018).
alter table keywarden.key add column superseded_at timestamptz;
--> statement-breakpoint
alter table keywarden.key drop constraint key_control_plane_number_scope_id_key;
--> statement-breakpoint
create unique index key_by_id on keywarden.key (control_plane_number, scope, id) where superseded_at is null;
--> statement-breakpoint
create index key_superseded on keywarden.key (control_plane_number, scope, id) where superseded_at is not null;
--> statement-breakpoint
alter table keywarden.incident drop constraint incident_kind_check;
--> statement-breakpoint
-- key_changed: an id that a listing shows with another creation time, creator or kind. Neither key goes until a person has looked.
-- configuration: a daemon whose configuration file cannot be used any more judges and revokes nothing.
alter table keywarden.incident add constraint incident_kind_check
  check (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed', 'key_changed',
    'configuration'));
--> statement-breakpoint
drop index keywarden.incident_open_of_rotation;
--> statement-breakpoint
create unique index incident_open_of_key on keywarden.incident (kind, key_number)
  where closed_at is null and kind in ('rotation_stalled', 'orphan', 'key_changed');
--> statement-breakpoint
-- A successor is a key with its id: not the one that had it before, or has it since.
create or replace view keywarden.key_line with (security_invoker = true) as
  select k.number as key_number, r.line_number, r.number as rotation_number
  from keywarden.rotation_mint m
    join keywarden.rotation r on r.number = m.rotation_number
    join keywarden.key o on o.number = r.key_number
    join keywarden.key k on k.control_plane_number = o.control_plane_number and k.scope = o.scope and k.id = m.key_id
      and k.superseded_at is null
  where m.fate is distinct from 'lost' and (m.fate is not null or r.ended_at is null);
