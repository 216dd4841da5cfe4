-- Inserts an exemption with its keys. The daemon's command line calls it for a person at the terminal, and the functions below for the holder of a
-- token.
create or replace function keywarden.insert_exemption(granter text, for_keys bigint[], of_rules text[], by_pattern text, why text, since timestamptz,
  lasts_until timestamptz) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as $$
  with made as (
    insert into keywarden.exemption (rules, pattern, reason, granted_by, granted_at, until)
    values (of_rules, by_pattern, why, granter, since, lasts_until) returning number
  ), covered as (
    insert into keywarden.exemption_key (exemption_number, key_number)
    select made.number, k.number from made, (select distinct unnest(for_keys) as number) k
  )
  select number from made
$$;
