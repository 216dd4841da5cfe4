-- Returns who sends a request, and records at most once a minute that a session is in use.
create or replace function keywarden.authenticate(credential text)
  returns table (token_number bigint, name text, role text, organization_ids text[], session_number bigint)
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  return query select h.token_number, h.name, h.role, h.organization_ids, h.session_number from keywarden.holder_of(credential) h;
  update keywarden.report_session s set last_seen_at = clock_timestamp() from keywarden.holder_of(credential) h
    where s.number = h.session_number and s.last_seen_at < clock_timestamp() - interval '1 minute';
end
$$;
