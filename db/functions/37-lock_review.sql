-- Locks a review, so that concurrent decisions and signatures wait for each other.
create or replace function keywarden.lock_review(wanted bigint) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as
$$ select number from keywarden.review where number = wanted for update $$;
