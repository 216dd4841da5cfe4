-- The decision about each existing key in the newest signed review that included it, if any review wants the key revoked. If that review differs from what was
-- signed, nothing is known about its keys: an earlier review does not count instead. To hash a review takes milliseconds, so only those that decide here are
-- hashed, once each: over the years there are hundreds, and almost all keys that they wanted revoked are gone. Once the token that signed it is revoked, a review
-- lets nothing be revoked automatically.
create view keywarden.review_verdict with (security_invoker = true) as
  with wanted as (
    select distinct d.key_number from keywarden.review_decision d join keywarden.credential k on k.number = d.key_number
    where d.decision = 'revoke' and k.gone_at is null
  ), newest as (
    -- The items count, not the decisions: a decision that was removed must not let an earlier review decide.
    select distinct on (i.key_number) i.key_number, i.decision, i.reason, i.decided_by, i.decided_at, i.review_number, s.content_sha256, s.signed_by
    from wanted w join keywarden.review_item_now i on i.key_number = w.key_number join keywarden.review_signature s on s.review_number = i.review_number
    order by i.key_number, s.signed_at desc, i.review_number desc
  ), intact as materialized (
    select review_number, keywarden.token_was_revoked(signed_by) as signer_was_revoked
    from (select distinct review_number, content_sha256, signed_by from newest offset 0) r
    where content_sha256 = keywarden.review_content_hash(review_number)
  )
  select key_number, decision, reason, decided_by, decided_at, review_number, signer_was_revoked from newest join intact using (review_number);
