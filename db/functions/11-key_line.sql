-- The line of each key that succeeded another. A successor is a key with its id: not the one that had it before, or has it since.
create view keywarden.key_line with (security_invoker = true) as
  select k.number as key_number, r.line_number, r.number as rotation_number
  from keywarden.rotation_mint m
    join keywarden.rotation r on r.number = m.rotation_number
    join keywarden.key o on o.number = r.key_number
    join keywarden.key k on k.control_plane_number = o.control_plane_number and k.scope = o.scope and k.id = m.key_id
      and k.superseded_at is null
  where m.fate is distinct from 'lost' and (m.fate is not null or r.ended_at is null);
