-- The SHA-256 of what a signature of a review covers: what was reviewed, and the newest decision about each key. Readers compare it with what was
-- signed.
create or replace function keywarden.review_content_hash(wanted bigint) returns text
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select encode(sha256(convert_to(jsonb_build_array(v.number, v.title, extract(epoch from v.as_of), v.filter, v.holes, v.plan_id,
      extract(epoch from v.keep_for), v.opened_by, extract(epoch from v.opened_at), (
        select jsonb_agg(jsonb_build_array(i.key_number, i.key, i.findings, i.decision, i.reason, i.decided_by, extract(epoch from i.decided_at))
          order by i.key_number)
        from keywarden.review_item_now i where i.review_number = v.number))::text, 'UTF8')), 'hex')
  from keywarden.review v where v.number = wanted
$$;
