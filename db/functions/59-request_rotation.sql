-- Asks the daemon to rotate a key, by an operator of the report. Raises KW004 for a key that the token cannot see, and for what is no API key.
create or replace function keywarden.request_rotation(credential text, wanted_key bigint, why text) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
  made bigint;
begin
  select * into holder from keywarden.require_holder(credential, 'operator', false);
  insert into keywarden.rotation_request (key_number, requested_by, reason)
    select k.number, holder.acts_as, why from keywarden.key k
    where k.number = wanted_key and (holder.organization_ids is null or k.organization_id = any(holder.organization_ids)) returning number into made;
  if made is null then
    raise exception 'key % cannot be seen', wanted_key using errcode = 'KW004';
  end if;
  return made;
end
$$;
