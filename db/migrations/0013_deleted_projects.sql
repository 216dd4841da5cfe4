-- deleted_at: when the control plane deleted the project, as its list of projects that can be recovered says; null where only its absence is known.
-- walk_refused_at: when it answered that the operations of the deleted project are not there.
alter table keywarden.project add column deleted_at timestamptz, add column walk_refused_at timestamptz;
--> statement-breakpoint
grant update (deleted_at, walk_refused_at) on keywarden.project to keywarden_daemon;
