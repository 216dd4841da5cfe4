-- Ends an exemption before its time, by the clock of its keys' control plane. An ended one stays as it is. Returns whether it ended one.
create or replace function keywarden.end_exemption_by(ender text, wanted bigint) returns boolean
  language sql security definer set search_path = pg_catalog, pg_temp as $$
  with ended as (
    update keywarden.exemption e set ended_by = ender, ended_at = greatest(e.granted_at, coalesce((
      select max(p.at) from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number
        join keywarden.control_plane_now p on p.control_plane_number = k.control_plane_number
      where x.exemption_number = e.number), now()) + (clock_timestamp() - now()))
    where e.number = wanted and e.ended_at is null returning e.number)
  select exists (select from ended)
$$;
