-- Inserts an exemption with its keys. The daemon's command line calls it for a person at the terminal, and the functions below for the holder of a
-- token. Refuses one of no key, or of no rule: rules null means all.
create or replace function keywarden.insert_exemption(granter text, for_keys bigint[], of_rules text[], by_pattern text, why text, since timestamptz,
  lasts_until timestamptz) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  made bigint;
begin
  if coalesce(cardinality(for_keys), 0) = 0 or cardinality(of_rules) = 0 then
    raise exception 'an exemption needs a key and a rule' using errcode = 'invalid_parameter_value';
  end if;
  insert into keywarden.exemption (rules, pattern, reason, granted_by, granted_at, until)
    values (of_rules, by_pattern, why, granter, since, lasts_until) returning number into made;
  insert into keywarden.exemption_key (exemption_number, key_number) select made, k from (select distinct unnest(for_keys) as k) keys;
  return made;
end
$$;
