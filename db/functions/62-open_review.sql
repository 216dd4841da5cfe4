-- Opens an access review of these items, each {"number", "key"}, by an auditor. It freezes the findings of the newest plan. Returns null for no item,
-- and for more than 20,000.
create or replace function keywarden.open_review(credential text, of_title text, at timestamptz, of_filter jsonb, of_holes jsonb, keep_days int,
  items jsonb) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
  opened record;
begin
  select * into holder from keywarden.require_holder(credential, 'auditor', true);
  if jsonb_array_length(items) not between 1 and 20000 then
    return null;
  end if;
  insert into keywarden.review (title, as_of, filter, holes, plan_id, keep_for, opened_by)
    values (of_title, at, of_filter, of_holes, (select id from keywarden.newest_plan),
      keep_days * interval '1 day', holder.acts_as)
    returning number, plan_id into opened;
  insert into keywarden.review_item (review_number, key_number, key, findings)
    select opened.number, i.number, i.key, coalesce((
      select jsonb_agg(jsonb_build_object('rule', f.rule, 'action', f.action, 'disposition', f.disposition, 'reason', f.reason) order by f.number)
      from keywarden.finding_now f where f.plan_id = opened.plan_id and f.key_number = i.number), '[]')
    from jsonb_to_recordset(items) as i (number bigint, key jsonb);
  return opened.number;
end
$$;
