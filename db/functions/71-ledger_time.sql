-- Returns a time as RFC 3339 in UTC under any settings of the session.
create or replace function keywarden.ledger_time(at timestamptz) returns text
language sql stable set search_path = pg_catalog, pg_temp as
$$ select (to_json(at at time zone 'UTC') #>> '{}') || 'Z' $$;
