-- Announces the months that are over their retention. A repeated call updates only the row counts and sizes of months announced before.
create or replace function keywarden.announce_operation_drops() returns setof keywarden.operation_drop
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  name text;
  first date;
  found_rows bigint;
begin
  -- The retention may have been extended since the announcement.
  delete from operation_drop d where d.dropped_at is null and not exists (
    select from operation_retention r where (d.month + interval '1 month') at time zone 'UTC' <= now() - r.keep);
  for name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'keywarden.operation'::regclass and c.relname ~ '^operation_\d{4}_\d\d$' order by c.relname
  loop
    first := to_date(right(name, 7), 'YYYY_MM');
    continue when not exists (
      select from operation_retention r where (first + interval '1 month') at time zone 'UTC' <= now() - r.keep
    );
    begin
      execute format('select count(*) from keywarden.%I', name) into found_rows;
    exception when undefined_table then
      continue; -- another process has dropped it meanwhile
    end;
    insert into operation_drop (month, operations, bytes)
    values (first, found_rows, table_bytes(format('keywarden.%I', name)::regclass)
      + table_bytes(format('keywarden.%I', replace(name, 'operation_', 'operation_version_'))::regclass))
    on conflict (month) do update set operations = excluded.operations, bytes = excluded.bytes,
      announced_at = case when operation_drop.dropped_at is null then operation_drop.announced_at else clock_timestamp() end,
      dropped_at = null, dropped_by = null;
  end loop;
  return query select * from operation_drop where dropped_at is null order by month;
end
$$;
