-- Citus copies no grants of columns to its nodes: where projects are on all nodes, the table's grant stands for them.
do $$
begin
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    if exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'keywarden.project'::regclass) then
      grant update on keywarden.project to keywarden_daemon;
    end if;
  end if;
end
$$;
