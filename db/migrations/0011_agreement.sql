-- What policy each replica goes by, said again every minute; null: its configuration file cannot be used, and why. While replicas that are heard
-- of differ, nothing is revoked or rotated by itself.
create table keywarden.replica_policy (
  replica uuid primary key,
  policy_sha256 text,
  why text,
  said_at timestamptz not null default now(),
  check ((policy_sha256 is null) = (why is not null))
);
--> statement-breakpoint
grant select on keywarden.replica_policy to keywarden_daemon;
--> statement-breakpoint
grant insert, update, delete on keywarden.replica_policy to keywarden_daemon;
