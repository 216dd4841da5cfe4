-- Makes a part of the newest plan, or of a part of it, for an operator. Returns null for any other plan.
create or replace function keywarden.derive_plan(credential text, parent text, keys bigint[]) returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from keywarden.require_holder(credential, 'operator', true);
  if not exists (select from keywarden.plan_standing s where s.plan_id = parent and s.superseded_by is null) then
    return null;
  end if;
  return keywarden.derive_plan_of(parent, keys);
end
$$;
