-- Who answers for each credential now, and for its line: whom it, or another of its line, was assigned to last, else its line's creator, else
-- the owner of its project. It says what key_line says, key by key: each step is by a unique index, for a planner that has seen no statistics
-- begins with all keys of a scope.
create view keywarden.key_owner_now with (security_invoker = true) as
  select k.number as key_number, f.number as line_number, coalesce(
      (select o.owner from keywarden.key_owner o where o.key_number = f.number or o.key_number = any(array(
          select m.key_number from keywarden.rotation r join keywarden.minted_key m on m.rotation_number = r.number
          where r.line_number = f.number and m.fate is distinct from 'lost' and (m.fate is not null or r.ended_at is null)))
       order by o.number desc limit 1),
      (select m.email from keywarden.member m where m.control_plane_number = k.control_plane_number and m.user_id = a.user_id
       order by m.left_at is null desc, m.last_seen_at desc, m.email limit 1),
      a.user_id) as owner
  from keywarden.credential k
    left join lateral (
      select r.line_number from (select m.rotation_number, m.attempt, m.fate from keywarden.rotation_mint m
          where m.key_id = k.id and m.fate is distinct from 'lost' offset 0) m
        join keywarden.rotation r on r.number = m.rotation_number
      where (m.fate is not null or r.ended_at is null) and (select n.key_number = k.number from keywarden.minted_key n
        where n.rotation_number = m.rotation_number and n.attempt = m.attempt)
      order by r.number limit 1) l on true
    join keywarden.credential f on f.number = coalesce(l.line_number, k.number)
    cross join lateral (select case when f.creator_id <> 'unknown' or f.kind in ('personal', 'organization', 'project') then f.creator_id
      else coalesce((select p.owner_id from keywarden.project p where p.control_plane_number = f.control_plane_number and p.id = f.project_id),
        f.creator_id) end as user_id) a;
