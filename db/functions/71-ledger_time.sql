-- Returns a time as RFC 3339 in UTC under any settings of the session.
create or replace function keywarden.ledger_time(at timestamptz) returns text
language sql stable as
$$ select (to_json(at at time zone 'UTC') #>> '{}') || 'Z' $$;
