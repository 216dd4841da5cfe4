-- Whether the database's clock was ahead when it wrote this time: then the time is in the future. A few minutes are allowed, as for clocks that are corrected.
-- The present is not that of the transaction: for one that a login keeps open, all that others wrote since would be in the future. Volatile, as clock_timestamp()
-- is: as a stable function it would be called for each row, because Postgres inserts no volatile text for it.
create or replace function keywarden.clock_was_ahead(written timestamptz) returns boolean
  language sql as $$ select written > clock_timestamp() + interval '5 minutes' $$;
