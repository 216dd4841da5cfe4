-- Ends an exemption by an operator of the report who sees all of its keys; raises KW003 for another. Returns whether it ended one.
create or replace function keywarden.end_exemption(credential text, wanted bigint) returns boolean
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
begin
  perform from keywarden.exemption where number = wanted for no key update;
  -- The token may have been revoked while this waited.
  select * into holder from keywarden.require_holder(credential, 'operator', false);
  if holder.organization_ids is not null and exists (
    select from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number
    where x.exemption_number = wanted and not coalesce(k.organization_id = any(holder.organization_ids), false)) then
    raise exception 'the exemption covers keys that the token cannot see' using errcode = 'KW003';
  end if;
  return keywarden.end_exemption_by(holder.acts_as, wanted);
end
$$;
