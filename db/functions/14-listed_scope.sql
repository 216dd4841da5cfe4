-- The scopes with a trusted listing, and the time of the last one. Each step looks up the next scope in the index of trusted listings: the listings grow with
-- the age of the store, and the scopes do not.
create view keywarden.listed_scope with (security_invoker = true) as
  with recursive listed as (
    (select control_plane_number, scope, listed_at from keywarden.key_listing where why_suspect is null
      order by control_plane_number, scope, listed_at desc limit 1)
    union all
    select n.control_plane_number, n.scope, n.listed_at from listed d cross join lateral (
      select l.control_plane_number, l.scope, l.listed_at from keywarden.key_listing l
      where l.why_suspect is null and (l.control_plane_number, l.scope) > (d.control_plane_number, d.scope)
      order by l.control_plane_number, l.scope, l.listed_at desc limit 1) n
  )
  select control_plane_number, scope, listed_at from listed;
