-- Opens a session for the holder of a live token, for 12 hours at most. `session` is the SHA-256 of its random id. A session opens no session. Ends those that
-- were used while the database's clock was ahead: they would be live again at that time.
create or replace function keywarden.open_session(credential text, session text, address text, agent text) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as $$
  with early as (
    update keywarden.report_session set ended_at = clock_timestamp(), ended_by = 'keywarden' where ended_at is null and keywarden.clock_was_ahead(last_seen_at)
  )
  insert into keywarden.report_session (session_hash, token_number, expires_at, address, agent)
  select session, h.token_number, clock_timestamp() + interval '12 hours', left(address, 64), left(agent, 200)
  from keywarden.require_holder(credential, 'viewer', false) h where h.session_number is null returning number
$$;
