-- Keeps the end of a token or a session: a login that may end them must not let a thief in again.
create or replace function keywarden.refuse_revival() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'what has ended stays ended' using errcode = 'insufficient_privilege';
end
$$;
