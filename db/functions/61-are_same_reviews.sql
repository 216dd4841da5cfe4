-- Returns whether these reviews were opened in the last ten minutes by the same filter, have exactly these gaps and items, each {"number", "key"}, and the
-- newest findings, and no decision. A client without an answer asks again, and gets them instead of others like them.
create or replace function keywarden.are_same_reviews(numbers bigint[], of_filter jsonb, of_holes jsonb, keep_days int, items jsonb) returns boolean
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select not exists (select from keywarden.review r left join keywarden.newest_plan p on true
      where r.number = any(numbers) and ((r.filter, r.holes, r.keep_for) <> (of_filter, of_holes, keep_days * interval '1 day')
        or r.plan_id is distinct from p.id or r.opened_at <= p.findings_at or r.opened_at < clock_timestamp() - interval '10 minutes'))
    and not exists (select from keywarden.review_decision d where d.review_number = any(numbers))
    and not exists (
      select from jsonb_to_recordset(items) i (number bigint, key jsonb)
        full join (select * from keywarden.review_item where review_number = any(numbers)) t on t.key_number = i.number and t.key = i.key
      where i.number is null or t.key_number is null)
$$;
