-- Ends a session: the holder's own (`wanted` null), another of the same token, or any for an operator who sees all organizations. Returns whether
-- it ended one.
create or replace function keywarden.end_session(credential text, wanted bigint) returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp as $$
  with ended as (
    update keywarden.report_session s set ended_at = clock_timestamp(), ended_by = h.acts_as from keywarden.require_holder(credential, 'viewer', false) h
    where s.number = coalesce(wanted, h.session_number) and s.ended_at is null
      and (s.token_number = h.token_number or h.role = 'operator' and h.organization_ids is null)
    returning s.number)
  select exists (select from ended)
$$;
