-- The decision about each existing key in the newest signed review that included it, if any review wants the key revoked. If that review differs from what was
-- signed, nothing is known about its keys: an earlier review does not count instead. To hash a review takes milliseconds, so only those that decide here are
-- hashed, once each: over the years there are hundreds, and almost all keys that they wanted revoked are gone.
create view keywarden.review_verdict with (security_invoker = true) as
  with wanted as (
    select distinct d.key_number from keywarden.review_decision d join keywarden.credential k on k.number = d.key_number
    where d.decision = 'revoke' and k.gone_at is null
  ), newest as (
    select distinct on (d.key_number) d.key_number, d.decision, d.reason, d.decided_by, d.decided_at, d.review_number, s.content_sha256
    from wanted w join keywarden.review_decision d on d.key_number = w.key_number join keywarden.review_signature s on s.review_number = d.review_number
    order by d.key_number, s.signed_at desc, d.number desc
  ), intact as materialized (
    select review_number from (select distinct review_number, content_sha256 from newest offset 0) r
    where content_sha256 = keywarden.review_content_hash(review_number)
  )
  select key_number, decision, reason, decided_by, decided_at, review_number from newest join intact using (review_number);
