-- The key that each mint made, as listings show it. Its id may have been another key's before, or may be since: only rows that were first seen
-- after the listing before the mint count, and of those the one that has the mint's name (docs/adr/0018).
create view keywarden.minted_key with (security_invoker = true) as
  select m.rotation_number, m.attempt, m.fate, k.number as key_number
  from keywarden.rotation_mint m
    join keywarden.rotation r on r.number = m.rotation_number
    join keywarden.key o on o.number = r.key_number
    join keywarden.key_listing l on l.number = m.last_listing_number
    cross join lateral (
      select s.number from keywarden.key s
      where s.control_plane_number = o.control_plane_number and s.scope = o.scope and s.id = m.key_id and s.first_seen_at >= l.listed_at
      order by normalize(btrim(s.name), NFKC) = normalize(btrim(m.name), NFKC) desc, s.superseded_at is null desc, s.number limit 1) k;
