-- Creates the partitions of both tables for these months. Existing partitions stay unchanged. A month that no operation can have is refused: the
-- daemon's role, or a control plane with absurd times, would otherwise create thousands.
create or replace function keywarden.make_operation_partitions(months date[]) returns void
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  month timestamp;
  parent text;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext('keywarden.make_operation_partitions'));
  if exists (select from unnest(months) as each where each not between '2010-01-01' and now() + interval '2 years') then
    raise exception 'no operation can be of one of these months' using errcode = '22008';
  end if;
  for month in select distinct date_trunc('month', each::timestamp) from unnest(months) as each loop
    foreach parent in array array['operation', 'operation_version'] loop
      name := parent || to_char(month, '_YYYY_MM');
      if to_regclass(format('keywarden.%I', name)) is null then
        -- The partition is attached, because readers of other months can continue meanwhile. Creating it as a partition would wait for all
        -- of them.
        execute format('create table keywarden.%I (like keywarden.%I including defaults)', name, parent);
        execute format('alter table keywarden.%I attach partition keywarden.%I for values from (%L) to (%L)',
          parent, name, month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
      end if;
    end loop;
  end loop;
end
$$;
