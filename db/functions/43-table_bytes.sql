-- Returns the size in bytes of a table with its indexes, on all nodes if Citus has distributed it.
create or replace function keywarden.table_bytes(measured regclass) returns bigint
language plpgsql security definer set search_path = keywarden, pg_temp as $$
declare
  is_distributed boolean := false;
  bytes bigint := pg_total_relation_size(measured);
begin
  -- The names are qualified by schema. This function runs as the owner, so a caller could otherwise supply a function or table of the same
  -- name.
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    execute 'select exists (select from pg_catalog.pg_dist_partition where logicalrelid = $1)' into is_distributed using measured;
  end if;
  if is_distributed then
    execute 'select pg_catalog.citus_total_relation_size($1)' into bytes using measured;
  end if;
  return bytes;
end
$$;
