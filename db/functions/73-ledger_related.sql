-- Returns the hash of the keys of an exemption, as JSON.
create or replace function keywarden.ledger_exempted(exemption bigint) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select keywarden.ledger_hash(coalesce(string_agg(k.key_name, E'\n' order by k.key_name collate "C"), ''))
  from (select keywarden.ledger_key_name(e.key_number) as key_name from keywarden.exemption_key e where e.exemption_number = exemption) k
$$;
-- Returns the hash of the keys and findings of a review, as JSON.
create or replace function keywarden.ledger_reviewed(review bigint) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select keywarden.ledger_hash(coalesce(string_agg(i.key_number || ' ' || i.key::text || ' ' || i.findings::text, E'\n' order by i.key_number), ''))
  from keywarden.review_item i where i.review_number = review
$$;
-- Returns what events record beside the columns of their row `r`: the rows that belong to an exemption or a review, and the name of the key that any other
-- row is about. Values are expressions of JSON.
create or replace function keywarden.ledger_related() returns table (kind text, name text, value text)
language sql immutable set search_path = pg_catalog, pg_temp as $$
  values ('exemption.granted', 'keys', 'keywarden.ledger_exempted(r.number)'),
    ('review.opened', 'items', 'keywarden.ledger_reviewed(r.number)'),
    (null, 'key', 'case when r.key_number is not null then to_json(keywarden.ledger_key_name(r.key_number))::text end')
$$;
