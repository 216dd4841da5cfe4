-- Opens an incident for each signed review whose content differs from what was signed. Returns how many such reviews there are.
create or replace function keywarden.report_broken_reviews() returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as $$
  with broken as (
    select s.review_number, s.signed_by, s.signed_at from keywarden.review_signature s
    where s.content_sha256 is distinct from keywarden.review_content_hash(s.review_number)
  ), opened as (
    insert into keywarden.incident (kind, scope, detail)
    select 'signature_broken', 'review ' || review_number, jsonb_build_object('signed_by', signed_by, 'signed_at', signed_at) from broken
    on conflict do nothing
  )
  select count(*) from broken
$$;
