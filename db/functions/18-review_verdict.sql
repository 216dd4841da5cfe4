-- The decision about each key in the newest signed review that included it. A review whose content differs from what was signed decides nothing.
create view keywarden.review_verdict with (security_invoker = true) as
  select distinct on (d.key_number) d.key_number, d.decision, d.reason, d.decided_by, d.decided_at, d.review_number
  from keywarden.review_decision d join (
    select review_number, signed_at from keywarden.review_signature
    where content_sha256 = keywarden.review_content_hash(review_number) offset 0) s on s.review_number = d.review_number
  order by d.key_number, s.signed_at desc, d.number desc;
