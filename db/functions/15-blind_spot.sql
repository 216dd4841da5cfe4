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
  from keywarden.listed_scope l join keywarden.control_plane_now p on p.control_plane_number = l.control_plane_number
  where split_part(l.scope, ':', 1) in ('user', 'organization') and l.listed_at < p.at - interval '1 day'
  union all
  select o.control_plane_number, 'organization:' || o.id, null, 'never_listed', null, o.first_seen_at from keywarden.organization o
  where not exists (select from keywarden.key_listing l
    where l.control_plane_number = o.control_plane_number and l.scope = 'organization:' || o.id and l.why_suspect is null)
  union all
  select c.control_plane_number, null, c.name, 'own_key_unknown', null, c.checked_at from keywarden.connection c
  where c.own_key_id is null and c.removed_at is null;
