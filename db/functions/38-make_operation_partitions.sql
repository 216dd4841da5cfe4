-- Creates the partitions of both tables for these months. Existing partitions stay unchanged. A month that no operation can have is refused: the
-- daemon's role, or a control plane with absurd times, would otherwise create thousands. Gives up if it cannot lock the tables, because every reader
-- would have to wait behind it. Callers wait for each other without a limit.
create or replace function keywarden.make_operation_partitions(months date[]) returns void
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  month timestamp;
  parent text;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext('keywarden.make_operation_partitions'));
  perform set_config('lock_timeout', '1s', true);
  if exists (select from unnest(months) as each where each not between '2010-01-01' and now() + interval '2 years') then
    raise exception 'no operation can be of one of these months' using errcode = '22008';
  end if;
  for month in select distinct date_trunc('month', each::timestamp) from unnest(months) as each loop
    foreach parent in array array['operation', 'operation_version'] loop
      name := parent || to_char(month, '_YYYY_MM');
      if to_regclass(format('keywarden.%I', name)) is null then
        -- No partition may be attached while others read the table: a session that reads the list of partitions at that moment does not see the new
        -- one until the next change of the table, and then finds no rows in it (docs/adr/0031). This statement locks the table.
        -- A time as Postgres writes it would mean another one under some settings of a session.
        -- A session that waited here may not know yet that another has created it.
        execute format('create table if not exists keywarden.%I partition of keywarden.%I for values from (%L) to (%L)',
          name, parent, to_char(month, 'YYYY-MM-DD"T00:00Z"'), to_char(month + interval '1 month', 'YYYY-MM-DD"T00:00Z"'));
      end if;
    end loop;
  end loop;
end
$$;
