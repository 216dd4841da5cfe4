-- Makes a part of the newest plan, or of a part of it, for an operator. Returns null for any other plan.
create or replace function keywarden.derive_plan(credential text, parent text, keys bigint[]) returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from keywarden.require_holder(credential, 'operator', true);
  if not exists (select from keywarden.plan p join keywarden.newest_plan n on n.id = coalesce(p.derived_from, p.id) where p.id = parent) then
    return null;
  end if;
  return keywarden.derive_plan_of(parent, keys);
end
$$;
