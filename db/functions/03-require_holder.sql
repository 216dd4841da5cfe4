-- The live token of a credential, if it has the role or a higher one; with `sees_all`, only a token of all organizations. Raises KW002 without a
-- live token, and KW003 if the token may not do that. A transaction that a login keeps open must not decide by what was true when it began.
create or replace function keywarden.require_holder(credential text, needed text, sees_all boolean)
  returns table (token_number bigint, name text, role text, organization_ids text[], session_number bigint, acts_as text)
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  ranks constant text[] := array['viewer', 'auditor', 'operator'];
begin
  perform keywarden.require_read_committed();
  return query select * from keywarden.holder_of(credential) h
    where array_position(ranks, h.role) >= array_position(ranks, needed) and (not sees_all or h.organization_ids is null);
  if not found then
    if exists (select from keywarden.holder_of(credential)) then
      raise exception 'the token may not do this' using errcode = 'KW003';
    end if;
    raise exception 'there is no such live token or session' using errcode = 'KW002';
  end if;
end
$$;
