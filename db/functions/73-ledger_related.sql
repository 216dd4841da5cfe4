-- Returns what an event records beside the columns of its row, as JSON: the hash of the rows that belong to an exemption or a review, or the key that
-- the row is about.
create or replace function keywarden.ledger_related(kind text, number bigint, key_number bigint) returns table (name text, value text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if kind = 'exemption.granted' then
    return query select 'keys', keywarden.ledger_hash(coalesce(string_agg(k.key_name, E'\n' order by k.key_name collate "C"), ''))
      from (select keywarden.ledger_key_name(e.key_number) as key_name from keywarden.exemption_key e where e.exemption_number = number) k;
  elsif kind = 'review.opened' then
    return query select 'items', keywarden.ledger_hash(coalesce(string_agg(i.key_number || ' ' || i.key::text || ' ' || i.findings::text, E'\n'
        order by i.key_number), ''))
      from keywarden.review_item i where i.review_number = number;
  elsif key_number is not null then
    return query select 'key', coalesce(to_json(keywarden.ledger_key_name(key_number))::text, 'null');
  end if;
end
$$;
