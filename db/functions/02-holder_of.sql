-- The live token that a SHA-256 in hex belongs to: of the token itself, or of a session that a person opened with it. A session ends with its
-- token, at its expiry, and after an hour without a request. One that was used while the database's clock was ahead has ended: its hour and its expiry
-- would come too late. It is granted to no role: the functions below call it to learn who acts.
-- The time is not that of the transaction: a login of the report could keep one open.
create or replace function keywarden.holder_of(credential text)
  returns table (token_number bigint, name text, role text, organization_ids text[], session_number bigint, acts_as text)
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select t.number, t.name, t.role, t.organization_ids, c.session_number, t.name || ' (report token ' || t.number || ')'
  from (select number as token_number, null::bigint as session_number from keywarden.report_token where token_hash = credential
      union all
      select s.token_number, s.number from keywarden.report_session s where s.session_hash = credential and s.ended_at is null
        and s.expires_at > clock_timestamp() and s.last_seen_at > clock_timestamp() - interval '1 hour' and not keywarden.clock_was_ahead(s.last_seen_at)) c
    join keywarden.report_token t on t.number = c.token_number
  where t.revoked_at is null and coalesce(t.expires_at > clock_timestamp(), true)
$$;
