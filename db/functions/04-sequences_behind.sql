-- Returns each sequence that is behind the numbers of its column, with the highest one. Logical replication copies rows and no sequences: inserts then fail, or
-- get numbers that count as earlier. The snapshot is older than what is read of the sequence, so rows of the meantime make none behind.
create or replace function keywarden.sequences_behind() returns table (sequence regclass, highest bigint)
language plpgsql stable security definer set search_path = keywarden, pg_temp as $$
declare
  owned record;
  last bigint;
begin
  for owned in
    select s.oid::regclass as name, a.attrelid::regclass as "table", a.attname as "column"
    from pg_class s
    join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
    join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
    where s.relkind = 'S' and s.relnamespace = 'keywarden'::regnamespace
  loop
    sequence := owned.name;
    execute format('select (select max(%I) from %s), (select last_value - (not is_called)::int from %s)', owned.column, owned.table, owned.name)
      into highest, last;
    if highest > last then
      return next;
    end if;
  end loop;
end
$$;
