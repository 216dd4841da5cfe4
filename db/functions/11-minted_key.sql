-- The key that each mint created, as listings show it. Another key may have had the same id earlier or later. A row counts if it has the
-- mint's name, or if the mint's user created it and it was first seen after the listing before the mint. A match by name wins
-- (docs/adr/0018). The name alone is sufficient, because the times of two listings come from the clocks of two servers. The view looks up
-- the key of each mint by id. Otherwise a planner without statistics would start with all keys of a scope.
create view keywarden.minted_key with (security_invoker = true) as
  select k.rotation_number, k.attempt, k.outcome, k.key_number
  from (select m.rotation_number, m.attempt, m.outcome, (
      select s.number from keywarden.key s
      where s.control_plane_number = o.control_plane_number and s.scope = o.scope and s.id = m.key_id
        and (normalize(btrim(s.name), NFKC) = normalize(btrim(m.name), NFKC)
          or s.creator_id in (m.creator_id, 'unknown') and s.first_seen_at >= (select l.listed_at from keywarden.key_listing l where l.number = m.last_listing_number))
      order by normalize(btrim(s.name), NFKC) = normalize(btrim(m.name), NFKC) desc, s.superseded_at is null desc, s.number limit 1) as key_number
    from keywarden.rotation_mint m
      join keywarden.rotation r on r.number = m.rotation_number
      join keywarden.key o on o.number = r.key_number) k
  where k.key_number is not null;
