-- The newest plan of all keys. Parts of plans are never the newest, nor are plans that the database's clock dates in the future: it was ahead then.
create view keywarden.newest_plan with (security_invoker = true) as
  select * from keywarden.plan where derived_from is null and not keywarden.clock_was_ahead(last_made_at) order by last_made_at desc, sequence desc limit 1;
