-- Returns a key as the control plane names it: the address of the control plane, the scope and the key's id.
create or replace function keywarden.ledger_key_name(wanted bigint) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select p.base_url || ' ' || c.scope || ' ' || c.id
  from keywarden.credential c join keywarden.control_plane p on p.number = c.control_plane_number where c.number = wanted
$$;
