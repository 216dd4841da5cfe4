-- Returns the hash of personal data with the event's salt, in hexadecimal digits. Once the salt is deleted, the value cannot be found by trying values.
create or replace function keywarden.ledger_salted(salt text, name text, value text) returns text
language sql immutable as
$$ select encode(sha256(convert_to(salt || ':' || name || ':' || value, 'UTF8')), 'hex') $$;
