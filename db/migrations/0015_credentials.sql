-- Keys and other credentials (roles with a password, permissions of projects, members, key sets, credentials of branches) are observed in one way
-- and in one table; keywarden.key shows the API keys among them. Ids are text: those of keys are int64, those of others are not (docs/adr/0019).
drop view keywarden.key_line, keywarden.key_owner_now, keywarden.blind_spot;
--> statement-breakpoint
alter table keywarden.key rename to credential;
--> statement-breakpoint
alter table keywarden.credential alter column id type text;
--> statement-breakpoint
alter table keywarden.connection alter column own_key_id type text;
--> statement-breakpoint
alter table keywarden.own_key alter column key_id type text;
--> statement-breakpoint
alter table keywarden.replica_credential alter column key_id type text;
--> statement-breakpoint
alter table keywarden.rotation_mint alter column key_id type text;
--> statement-breakpoint
-- holder: who may get in by it, where its record says. expires_at: null for one that does not expire.
alter table keywarden.credential add column branch_id text, add column holder text, add column expires_at timestamptz;
--> statement-breakpoint
alter table keywarden.credential drop constraint key_kind_check;
--> statement-breakpoint
alter table keywarden.credential add constraint credential_kind_check check (kind in ('personal', 'organization', 'project',
  'branch_credential', 'role', 'project_permission', 'project_member', 'jwks'));
--> statement-breakpoint
create index other_credential on keywarden.credential (number) where kind not in ('personal', 'organization', 'project');
--> statement-breakpoint
create index other_credential_by_project on keywarden.credential (control_plane_number, project_id)
  where kind not in ('personal', 'organization', 'project');
--> statement-breakpoint
create view keywarden.key with (security_invoker = true) as
  select number, control_plane_number, scope, id, kind, organization_id, project_id, name, creator_id, creator_name, created_at, last_used_at,
    last_used_from, use_went_back, extra, first_seen_at, missing_since, gone_at, present_since, superseded_at
  from keywarden.credential where kind in ('personal', 'organization', 'project');
--> statement-breakpoint
-- The line of each key that succeeded another. A successor is a key with its id: not the one that had it before, or has it since.
create view keywarden.key_line with (security_invoker = true) as
  select k.number as key_number, r.line_number, r.number as rotation_number
  from keywarden.rotation_mint m
    join keywarden.rotation r on r.number = m.rotation_number
    join keywarden.key o on o.number = r.key_number
    join keywarden.key k on k.control_plane_number = o.control_plane_number and k.scope = o.scope and k.id = m.key_id
      and k.superseded_at is null
  where m.fate is distinct from 'lost' and (m.fate is not null or r.ended_at is null);
--> statement-breakpoint
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
--> statement-breakpoint
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
--> statement-breakpoint
grant select on keywarden.key, keywarden.key_line, keywarden.key_owner_now, keywarden.blind_spot to keywarden_daemon, keywarden_report;
--> statement-breakpoint
alter table keywarden.sync_run drop constraint sync_run_kind_check;
--> statement-breakpoint
alter table keywarden.sync_run add constraint sync_run_kind_check check (kind in ('keys', 'operations', 'credentials'));
--> statement-breakpoint
alter table keywarden.rejected_row drop constraint rejected_row_list_check;
--> statement-breakpoint
alter table keywarden.rejected_row add constraint rejected_row_list_check
  check (list in ('organizations', 'members', 'keys', 'projects', 'operations', 'credentials'));
