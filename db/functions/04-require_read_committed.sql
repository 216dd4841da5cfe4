-- Raises an error in a transaction that does not see what others have committed since it began. A login could keep such a transaction open, and act in it with
-- a token that was revoked meanwhile, or decide about a review that was signed.
create or replace function keywarden.require_read_committed() returns void
  language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'this needs a transaction of the isolation level read committed' using errcode = 'invalid_transaction_state';
  end if;
end
$$;
