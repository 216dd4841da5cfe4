-- Drops a month that was announced at least 23 hours ago and is still over the retention. Refuses any other month. Removes the month from
-- coverage too. Gives up if it cannot lock the table, because every reader would have to wait behind it.
create or replace function keywarden.drop_operation_month(which date, who text) returns void
language plpgsql security definer set search_path = keywarden, pg_temp set lock_timeout = '5s' as $$
declare
  lasts tstzrange := tstzrange(which::timestamp at time zone 'UTC', (which + interval '1 month') at time zone 'UTC');
begin
  if not exists (select from operation_retention r where upper(lasts) <= now() - r.keep) then
    raise exception 'the operations of % are inside their retention', to_char(which, 'YYYY-MM') using errcode = 'insufficient_privilege';
  end if;
  if not exists (select from operation_drop d where d.month = which and d.dropped_at is null and d.announced_at <= now() - interval '23 hours') then
    raise exception 'no dry run announced % at least 23 hours ago', to_char(which, 'YYYY-MM') using errcode = 'insufficient_privilege';
  end if;
  -- On a cluster, one transaction changes several distributed tables.
  perform set_config('citus.multi_shard_modify_mode', 'sequential', true);
  execute format('drop table keywarden.%I', 'operation' || to_char(which, '_YYYY_MM'));
  execute format('drop table keywarden.%I', 'operation_version' || to_char(which, '_YYYY_MM'));
  delete from operation_pruned where created_at <@ lasts;
  update operation_coverage set known = known - tstzmultirange(lasts) where known && lasts;
  -- The time after the lock: a seal that was made meanwhile is earlier.
  update operation_drop set dropped_at = clock_timestamp(), dropped_by = who
  where month = which and dropped_at is null and announced_at <= now() - interval '23 hours'
    and exists (select from operation_retention r where upper(lasts) <= now() - r.keep);
  if not found then
    raise exception '% is kept for longer now, or was dropped meanwhile and added again', to_char(which, 'YYYY-MM') using errcode = 'insufficient_privilege';
  end if;
end
$$;
