-- Returns the leaf of an event. `described` is what keywarden.describe_... returns: the subject, the time, the salted hash of the actor, and the content as
-- canonical JSON. The leaf is canonical JSON (RFC 8785) too: its members are in the order of their names.
create or replace function keywarden.ledger_leaf(kind text, described text[], recorded timestamptz) returns text
language sql stable as $$
  select '{"actor":' || coalesce('"' || described[3] || '"', 'null') || ',"at":"' || coalesce(described[2], keywarden.ledger_time(recorded))
    || '","content":"' || encode(sha256(convert_to(described[4], 'UTF8')), 'hex') || '","recorded":"' || keywarden.ledger_time(recorded)
    || '","subject":' || to_json(described[1])::text || ',"type":"' || kind || '","v":"1"}'
$$;
-- Adds an event to the ledger, in the transaction of its row. Events without personal data have no salt.
create or replace function keywarden.append_event(kind text, described text[], salt text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  recorded timestamptz := clock_timestamp();
  event bigint;
begin
  insert into keywarden.ledger_event (type, subject, leaf, content, recorded_at)
    values (kind, described[1], keywarden.ledger_leaf(kind, described, recorded), described[4], recorded)
  returning number into event;
  if salt is not null then
    insert into keywarden.ledger_salt (event_number, salt) values (event, salt);
  end if;
end
$$;
