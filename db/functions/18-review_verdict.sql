-- The decision about each existing key in the newest signed review that included it, if any review wants the key revoked. A review whose content differs from
-- what was signed decides nothing. To hash a review takes milliseconds, so those that have no such key are not looked at: over the years there are hundreds,
-- and almost all keys that they wanted revoked are gone (offset 0 keeps the choice before the hash).
create view keywarden.review_verdict with (security_invoker = true) as
  with wanted as (
    select distinct d.key_number from keywarden.review_decision d join keywarden.credential k on k.number = d.key_number
    where d.decision = 'revoke' and k.gone_at is null
  ), intact as materialized (
    select s.review_number, s.signed_at from (
      select * from keywarden.review_signature where review_number in (
        select d.review_number from wanted w join keywarden.review_decision d on d.key_number = w.key_number) offset 0) s
    where s.content_sha256 = keywarden.review_content_hash(s.review_number)
  )
  select distinct on (d.key_number) d.key_number, d.decision, d.reason, d.decided_by, d.decided_at, d.review_number
  from wanted w join keywarden.review_decision d on d.key_number = w.key_number join intact s on s.review_number = d.review_number
  order by d.key_number, s.signed_at desc, d.number desc;
