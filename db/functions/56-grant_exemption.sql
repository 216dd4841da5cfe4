-- Grants an exemption by an operator of the report, from now by the control plane's clock, also in a transaction that began before. Raises KW004 for a key that
-- the token cannot see. The same one by the same person is granted once while it is in force: a client without an answer asks again, and one end must end it.
create or replace function keywarden.grant_exemption(credential text, for_keys bigint[], of_rules text[], why text, lasts_until timestamptz)
  returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
  hidden bigint;
  same bigint;
  present timestamptz;
begin
  select * into holder from keywarden.require_holder(credential, 'operator', false);
  select wanted into hidden from unnest(for_keys) wanted where not exists (
    select from keywarden.credential k where k.number = wanted
      and (holder.organization_ids is null or k.organization_id = any(holder.organization_ids))) limit 1;
  if hidden is not null then
    raise exception 'key % cannot be seen', hidden using errcode = 'KW004';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('exemptions by ' || holder.acts_as, 2));
  -- The token may have been revoked while this waited.
  perform from keywarden.require_holder(credential, 'operator', false);
  select coalesce(max(p.at), now()) + (clock_timestamp() - now()) into present from keywarden.control_plane_now p;
  select e.number into same from keywarden.exemption e
    where e.granted_by = holder.acts_as and e.reason = why and e.rules is not distinct from of_rules and e.ended_at is null
      and e.until > present
      and lasts_until between e.until - interval '1 minute' and e.until + interval '1 minute'
      and array(select k.key_number from keywarden.exemption_key k where k.exemption_number = e.number order by 1)
        = array(select distinct k from unnest(for_keys) k order by 1) limit 1;
  if same is not null then
    return same;
  end if;
  return keywarden.insert_exemption(holder.acts_as, for_keys, of_rules, null, why, present, lasts_until);
end
$$;
