-- Returns the tables whose governed rows Keywarden deletes: a retention that is ended, and a month that was announced, but not dropped. No other row is
-- ever deleted.
create or replace function keywarden.ledger_deletes() returns text[]
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select '{operation_retention,operation_drop}'::text[]
$$;
