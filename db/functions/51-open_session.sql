-- Opens a session for the holder of a live token, for 12 hours at most. `session` is the SHA-256 of its random id. A session opens no session.
create or replace function keywarden.open_session(credential text, session text, address text, agent text) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into keywarden.report_session (session_hash, token_number, expires_at, address, agent)
  select session, h.token_number, now() + interval '12 hours', left(address, 64), left(agent, 200)
  from keywarden.require_holder(credential, 'viewer', false) h where h.session_number is null returning number
$$;
