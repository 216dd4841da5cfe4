-- Refuses a write by a process that has lost its lock. Keeps the next holder from starting until the write has finished.
create or replace function keywarden.hold_fence(held_name text, held_fence bigint) returns void
language plpgsql set search_path = keywarden, pg_temp as $$
begin
  perform 1 from work_fence f where f.name = held_name and f.fence = held_fence for share;
  if not found then
    raise exception 'another process has taken over the %', held_name using errcode = 'KW005';
  end if;
end
$$;
