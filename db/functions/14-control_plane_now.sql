-- The current time of each control plane by its own clock, derived from its last listing. The order names the control plane, so that its own index is used:
-- by number alone, that of a control plane that is no longer listed is found below all listings of the others.
create view keywarden.control_plane_now with (security_invoker = true) as
  select c.number as control_plane_number, coalesce(l.listed_at + (now() - l.received_at), now()) as at
  from keywarden.control_plane c left join lateral (
    select listed_at, received_at from keywarden.key_listing where control_plane_number between c.number and c.number
    order by control_plane_number desc, number desc limit 1) l on true;
