-- Opens a campaign by an auditor: an access review for each organization or owner of these items, each {"number", "key"}. `settings` has title,
-- split_by, due_at, remind_days, default_decision, keep_needs_reason, escalate_to and escalate_after_days. The reviewer is the owner of the keys, or
-- the auditor. Returns null for no item, and for more than 20,000, and 0 for a due date that is not within the next 366 days. The same one by the same
-- person is opened once.
create or replace function keywarden.open_campaign(credential text, settings jsonb, at timestamptz, of_filter jsonb, of_holes jsonb, keep_days int,
  items jsonb) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
  campaign keywarden.review_campaign;
  part record;
begin
  select * into holder from keywarden.require_holder(credential, 'auditor', true);
  if coalesce(jsonb_array_length(items), 0) not between 1 and 20000 then
    return null;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('reviews by ' || holder.acts_as, 2));
  -- The token may have been revoked while this waited.
  perform from keywarden.require_holder(credential, 'auditor', true);
  if (settings ->> 'due_at')::timestamptz not between clock_timestamp() + interval '1 second' and clock_timestamp() + interval '366 days' then
    return 0;
  end if;
  select c.* into campaign from keywarden.review_campaign c
    where c.opened_by = holder.acts_as and c.canceled_at is null
      and (c.title, c.split_by, c.due_at, to_jsonb(c.remind_days), c.default_decision, c.keep_needs_reason, c.escalate_to, c.escalate_after_days)
        is not distinct from (settings ->> 'title', settings ->> 'split_by', (settings ->> 'due_at')::timestamptz, settings -> 'remind_days',
          settings ->> 'default_decision', settings ->> 'keep_needs_reason', settings ->> 'escalate_to', (settings ->> 'escalate_after_days')::int)
      and keywarden.are_same_reviews(array(select r.number from keywarden.review r where r.campaign_number = c.number), of_filter, of_holes, keep_days,
        items)
    order by c.number desc limit 1;
  if found then
    return campaign.number;
  end if;
  insert into keywarden.review_campaign (title, split_by, due_at, remind_days, default_decision, keep_needs_reason, escalate_to, escalate_after_days,
      opened_by)
    values (settings ->> 'title', settings ->> 'split_by', (settings ->> 'due_at')::timestamptz,
      array(select day::int from jsonb_array_elements_text(settings -> 'remind_days') day), settings ->> 'default_decision',
      settings ->> 'keep_needs_reason', settings ->> 'escalate_to', (settings ->> 'escalate_after_days')::int, holder.acts_as)
    returning * into campaign;
  for part in
    select case when campaign.split_by = 'owner' then i.item -> 'key' ->> 'owner' else i.item -> 'key' ->> 'organization_id' end as place,
      case when campaign.split_by = 'owner' then max(i.item -> 'key' ->> 'owner')
        else coalesce(max(i.item -> 'key' ->> 'organization_name'), max(i.item -> 'key' ->> 'organization_id'), 'personal keys') end as name,
      jsonb_agg(i.item) as items
    from jsonb_array_elements(items) i (item) group by 1 order by 2, 1
  loop
    perform keywarden.insert_review(holder.acts_as, campaign.title || ': ' || part.name, at, of_filter, of_holes, keep_days, part.items,
      campaign.number, case when campaign.split_by = 'owner' then part.place else holder.acts_as end);
  end loop;
  return campaign.number;
end
$$;
