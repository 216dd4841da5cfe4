-- Whether the database's clock was ahead when it wrote this time: then the time is in the future. A few minutes are allowed, as for clocks that are corrected.
create or replace function keywarden.clock_was_ahead(written timestamptz) returns boolean
  language sql stable as $$ select written > now() + interval '5 minutes' $$;
