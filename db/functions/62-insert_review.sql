-- Inserts an access review of these items, each {"number", "key"}. It freezes the findings of the newest plan. The functions that open reviews and
-- campaigns call it; it is granted to no role.
create or replace function keywarden.insert_review(opener text, of_title text, at timestamptz, of_filter jsonb, of_holes jsonb, keep_days int,
  items jsonb, campaign bigint, of_reviewer text) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  opened record;
begin
  -- The ledger records the review with its items, even if the caller's transaction has set constraints to immediate.
  set constraints keywarden.ledger_review_opened deferred;
  insert into keywarden.review (title, as_of, filter, holes, plan_id, keep_for, opened_by, campaign_number, reviewer)
    values (of_title, at, of_filter, of_holes, (select id from keywarden.newest_plan), keep_days * interval '1 day', opener, campaign, of_reviewer)
    returning number, plan_id into opened;
  insert into keywarden.review_item (review_number, key_number, key, findings)
    select opened.number, i.number, i.key, coalesce((
      select jsonb_agg(jsonb_build_object('rule', f.rule, 'action', f.action, 'disposition', f.disposition, 'reason', f.reason) order by f.number)
      from keywarden.finding_now f where f.plan_id = opened.plan_id and f.key_number = i.number), '[]')
    from jsonb_to_recordset(items) as i (number bigint, key jsonb);
  return opened.number;
end
$$;
