-- The newest plan of all keys. Parts of plans are never the newest.
create view keywarden.newest_plan with (security_invoker = true) as
  select * from keywarden.plan where derived_from is null order by last_made_at desc, sequence desc limit 1;
