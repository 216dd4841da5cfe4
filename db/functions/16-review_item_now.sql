-- Each item of a review with the newest decision about it.
create view keywarden.review_item_now with (security_invoker = true) as
  select i.review_number, i.key_number, i.key, i.findings, d.decision, d.reason, d.decided_by, d.decided_at
  from keywarden.review_item i left join lateral (
    select * from keywarden.review_decision d where d.review_number = i.review_number and d.key_number = i.key_number
    order by d.number desc limit 1) d on true;
