-- Opens an access review of these items, each {"number", "key"}, by an auditor. Returns null for no item, and for more than 20,000.
create or replace function keywarden.open_review(credential text, of_title text, at timestamptz, of_filter jsonb, of_holes jsonb, keep_days int,
  items jsonb) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
begin
  select * into holder from keywarden.require_holder(credential, 'auditor', true);
  if jsonb_array_length(items) not between 1 and 20000 then
    return null;
  end if;
  return keywarden.insert_review(holder.acts_as, of_title, at, of_filter, of_holes, keep_days, items, null, null);
end
$$;
