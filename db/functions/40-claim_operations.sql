-- Adds what a page proves to what the archive claims of a project (A2), and takes back what the page shows and cannot be read: `unread` is [{id, from, to}].
-- Both can be null. Returns the days whose claims have changed. keywarden.save_operation_page calls it after it has written the page's rows.
create or replace function keywarden.claim_operations(project bigint, proved tstzrange, unread jsonb) returns datemultirange
language plpgsql set search_path = keywarden, pg_temp as $$
declare
  known_before tstzmultirange;
  lacking tstzmultirange;
  taken_back tstzmultirange;
  changed tstzmultirange := '{}';
begin
  if proved is not null then
    select c.known into known_before from operation_coverage c where c.project_number = project;
    changed := tstzmultirange(proved) - coalesce(known_before, '{}');
    insert into operation_coverage as c (project_number, known) values (project, tstzmultirange(proved))
    on conflict (project_number) do update set known = c.known + excluded.known where not c.known @> proved;
  end if;
  if unread is not null then
    select coalesce(range_agg(tstzrange(u."from", u."to", '[]')), '{}') into lacking
    from jsonb_to_recordset(unread) u(id text, "from" timestamptz, "to" timestamptz)
    where not exists (
      select from operation o
      where o.project_number = project and o.created_at between date_trunc('second', u."from") and u."to" and o.id::text = lower(u.id));
    select c.known * lacking into taken_back from operation_coverage c where c.project_number = project and c.known && lacking;
    if found then
      changed := changed + taken_back;
      update operation_coverage c set known = c.known - lacking where c.project_number = project;
    end if;
  end if;
  return (
    select coalesce(range_agg(daterange((lower(r) at time zone 'UTC')::date, (upper(r) at time zone 'UTC')::date, '[]')), '{}') from unnest(changed) r);
end
$$;
