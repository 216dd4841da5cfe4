-- Returns the kinds of events that are an end which is set once: no later event of the row may say another time or, until its personal data is erased,
-- another person. A rotation that failed can be given up, and the key of a ledger can be ended again.
create or replace function keywarden.ledger_ends_once() returns text[]
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select '{exemption.ended,campaign.canceled,pause.ended,incident.closed,token.revoked}'::text[]
$$;
