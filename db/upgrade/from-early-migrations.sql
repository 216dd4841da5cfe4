-- From the last of the sixteen migrations that the baseline replaced: names that had stayed behind when tables were renamed, and the table of
-- applied functions. What else the baseline has was there.
alter table keywarden.credential rename constraint key_pkey to credential_pkey;
alter table keywarden.credential rename constraint key_control_plane_number_fkey to credential_control_plane_number_fkey;
alter sequence keywarden.key_number_seq rename to credential_number_seq;
create table keywarden.repeatable (
  name text primary key,
  sha256 text not null,
  applied_at timestamptz not null default now()
);
