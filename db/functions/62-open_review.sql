-- Opens an access review of these items, each {"number", "key"}, by an auditor. Returns null for no item, and for more than 20,000. The same one by the same
-- person is opened once.
create or replace function keywarden.open_review(credential text, of_title text, at timestamptz, of_filter jsonb, of_holes jsonb, keep_days int,
  items jsonb) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
  same bigint;
begin
  select * into holder from keywarden.require_holder(credential, 'auditor', true);
  if coalesce(jsonb_array_length(items), 0) not between 1 and 20000 then
    return null;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('reviews by ' || holder.acts_as, 2));
  -- The token may have been revoked while this waited.
  perform from keywarden.require_holder(credential, 'auditor', true);
  select r.number into same from keywarden.review r
    where r.opened_by = holder.acts_as and r.title = of_title and r.campaign_number is null
      and keywarden.are_same_reviews(array[r.number], of_filter, of_holes, keep_days, items)
    order by r.number desc limit 1;
  if same is not null then
    return same;
  end if;
  return keywarden.insert_review(holder.acts_as, of_title, at, of_filter, of_holes, keep_days, items, null, null);
end
$$;
