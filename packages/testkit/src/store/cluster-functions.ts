import type { Sql } from '@keywarden/db/store';

/**
 * Gives a test's own store the catalog and functions of a Citus cluster that Keywarden calls, with what a real cluster was seen to refuse. Calls are
 * recorded in keywarden.called. Nothing is distributed. The rows of pg_dist_node say which nodes answer.
 */
export async function addClusterFunctions(owner: Sql): Promise<void> {
  await owner
    .unsafe(`
    -- The schema in which Citus has its own objects.
    set allow_system_table_mods = on;
    create table keywarden.called (number int generated always as identity, what text);
    create table pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", repmodel "char");
    create table pg_catalog.pg_dist_node (groupid int, nodename text, nodeport int default 5432, isactive boolean default true,
      shouldhaveshards boolean default true, noderole text default 'primary', answers boolean default true);
    grant select on pg_catalog.pg_dist_partition, pg_catalog.pg_dist_node to public;
    create function pg_catalog.create_reference_table(name regclass) returns void language plpgsql as $$
    begin
      if current_setting('citus.multi_shard_modify_mode', true) is distinct from 'sequential' then
        raise exception 'cannot modify table "%" because there was a parallel operation', name using errcode = 'XX000';
      end if;
      insert into keywarden.called (what) values (format('reference %s', name));
      insert into pg_dist_partition values (name, 'n', 't');
    end $$;
    create function pg_catalog.create_distributed_table(name regclass, key text, colocate_with text, shard_count int default null)
    returns void language sql as $$
      insert into keywarden.called (what) values (format('%s by %s beside %s', name, key, colocate_with) || coalesce(' in ' || shard_count || ' shards', ''));
      insert into pg_dist_partition values (name, 'h', 's') $$;
    create function pg_catalog.truncate_local_data_after_distributing_table(name regclass) returns void language sql as $$
      insert into keywarden.called (what) values (format('truncate %s', name)) $$;
    create function pg_catalog.citus_total_relation_size(regclass) returns bigint language sql as 'select 123456789';
    create function pg_catalog.get_shard_id_for_distribution_column(regclass, bigint) returns bigint language sql as 'select 102008 + $2 % 3';
    create function pg_catalog.run_command_on_workers(text) returns table (nodename text, nodeport int, success boolean, result text)
      language sql as 'select nodename, nodeport, answers, null from pg_dist_node where groupid <> 0 and isactive';
    reset allow_system_table_mods`)
    .simple();
}
