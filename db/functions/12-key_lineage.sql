-- The lineage of each key that is a successor.
create view keywarden.key_lineage with (security_invoker = true) as
  select m.key_number, r.lineage_number, r.number as rotation_number
  from keywarden.minted_key m join keywarden.rotation r on r.number = m.rotation_number
  where m.outcome is distinct from 'lost' and (m.outcome is not null or r.ended_at is null);
