-- Citus does not copy column grants to its nodes. Where projects are on all nodes, the grant on the table replaces them.
do $$
begin
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    if exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'keywarden.project'::regclass) then
      grant update on keywarden.project to keywarden_daemon;
    end if;
  end if;
end
$$;
