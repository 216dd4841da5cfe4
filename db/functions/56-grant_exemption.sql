-- Grants an exemption by an operator of the report, from now by the control plane's clock. Raises KW004 for a key that the token cannot see.
create or replace function keywarden.grant_exemption(credential text, for_keys bigint[], of_rules text[], why text, lasts_until timestamptz)
  returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
  hidden bigint;
begin
  select * into holder from keywarden.require_holder(credential, 'operator', false);
  select wanted into hidden from unnest(for_keys) wanted where not exists (
    select from keywarden.credential k where k.number = wanted
      and (holder.organization_ids is null or k.organization_id = any(holder.organization_ids))) limit 1;
  if hidden is not null then
    raise exception 'key % cannot be seen', hidden using errcode = 'KW004';
  end if;
  return keywarden.insert_exemption(holder.acts_as, for_keys, of_rules, null, why,
    (select coalesce(max(p.at), now()) from keywarden.control_plane_now p), lasts_until);
end
$$;
