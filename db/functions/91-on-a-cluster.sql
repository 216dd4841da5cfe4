-- What a Citus cluster needs of the roles, where projects are on all nodes. `migrate --citus` applies it too.
do $$
declare
  name text;
begin
  if to_regclass('pg_catalog.pg_dist_partition') is null then
    return;
  end if;
  if not exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'keywarden.project'::regclass) then
    return;
  end if;
  -- Citus 13.0 does not copy column grants to its nodes. The grant on the table replaces them.
  grant update on keywarden.project to keywarden_daemon;
  foreach name in array array['keywarden_daemon', 'keywarden_report'] loop
    -- They log in to the other nodes, and must print times there as the sessions of the apps do.
    execute format('alter role %I login', name);
    execute format('alter role %I in database %I set timezone to ''UTC''', name, current_database());
    execute format('alter role %I in database %I set datestyle to ''ISO, MDY''', name, current_database());
  end loop;
end
$$;
