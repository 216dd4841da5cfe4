-- Returns the columns that a later version added to tables with events. An event has them only if they have a value, so that earlier events stay as they are.
create or replace function keywarden.ledger_later() returns text[]
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select '{created_by,revoked_by}'::text[]
$$;
