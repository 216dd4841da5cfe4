-- The current owner of each credential, and its lineage. The owner is the one last assigned to the credential or to another key of its
-- lineage. Otherwise it is the lineage's creator, and otherwise the owner of the credential's project. The lineage is that of the credential's
-- own rotations, because a changed record may match its mint no longer. Otherwise it is that of key_lineage, computed key by key. The
-- mints of a key's id are read first, by their index (offset 0 keeps them together). Otherwise a planner without statistics would read all
-- rotations once for each key.
create view keywarden.key_owner_now with (security_invoker = true) as
  select k.number as key_number, f.number as lineage_number, coalesce(
      (select (array_agg(o.owner order by o.number desc))[1] from keywarden.key_owner o where o.key_number = any(f.number || array(
          select r.key_number from keywarden.rotation r where r.lineage_number = f.number union all
          select m.key_number from keywarden.rotation r join keywarden.minted_key m on m.rotation_number = r.number
          where r.lineage_number = f.number and m.outcome is distinct from 'lost' and (m.outcome is not null or r.ended_at is null)))),
      (select m.email from keywarden.member m where m.control_plane_number = k.control_plane_number and m.user_id = a.user_id
       order by m.left_at is null desc, m.last_seen_at desc, m.email limit 1),
      a.user_id) as owner
  from keywarden.credential k
    left join lateral (
      select t.lineage_number from (select m.rotation_number, m.attempt, r.lineage_number
          from keywarden.rotation_mint m join keywarden.rotation r on r.number = m.rotation_number
          where m.key_id = k.id and m.outcome is distinct from 'lost' and (m.outcome is not null or r.ended_at is null) offset 0) t
      where (select n.key_number = k.number from keywarden.minted_key n where n.rotation_number = t.rotation_number and n.attempt = t.attempt)
      order by t.rotation_number limit 1) l on true
    join keywarden.credential f on f.number = coalesce(
      (select (array_agg(r.lineage_number order by r.number))[1] from keywarden.rotation r where r.key_number = k.number), l.lineage_number, k.number)
    cross join lateral (select case when f.creator_id <> 'unknown' or f.kind in ('personal', 'organization', 'project') then f.creator_id
      else coalesce((select p.owner_id from keywarden.project p where p.control_plane_number = f.control_plane_number and p.id = f.project_id),
        f.creator_id) end as user_id) a;
