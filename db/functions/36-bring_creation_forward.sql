-- Notes that a project was created earlier than the store says (A9). The time never moves the other way: that would hide operations that are missing. The day
-- of the later time is sealed again, without the claim that the project did not exist before. The caller holds the project's pages.
create or replace function keywarden.bring_creation_forward(project bigint, created timestamptz) returns void
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  later timestamptz;
  day date;
  -- A variable, because a cluster evaluates now() only outside of an update with columns.
  marked_at timestamptz := now();
begin
  select p.created_at into later from project p where p.number = project and p.created_at > created for update;
  if not found then
    return;
  end if;
  update project p set created_at = created where p.number = project;
  day := (later at time zone 'UTC')::date;
  update operation_sealing s set changed = s.changed + datemultirange(daterange(day, day, '[]')), changed_at = coalesce(s.changed_at, marked_at)
  where s.project_number = project and s.sealed_to > day;
end
$$;
