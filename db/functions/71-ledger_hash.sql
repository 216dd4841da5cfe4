-- Returns the SHA-256 of a text, as JSON.
create or replace function keywarden.ledger_hash(value text) returns text
language sql immutable as
$$ select '{"sha256":"' || encode(sha256(convert_to(value, 'UTF8')), 'hex') || '"}' $$;
