-- Creates the roles of the two apps, and of the command line where it manages tokens and sessions. Roles belong to the whole cluster, so another database may have created them already.
do $$
declare
  name text;
begin
  foreach name in array array['keywarden_admin', 'keywarden_daemon', 'keywarden_report'] loop
    if not exists (select from pg_roles where rolname = name) then
      begin
        execute format('create role %I nologin', name);
      exception when duplicate_object or unique_violation then null;
      end;
    end if;
    if not pg_has_role(current_user, name, 'member') then
      execute format('grant %I to current_user', name);
    end if;
  end loop;
end
$$;
