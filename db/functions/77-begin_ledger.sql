-- Records the rows that were there before the ledger, as events. Their leaves prove that they existed when the ledger began, not when they were made.
-- Rows that are in the ledger stay. Only the owner calls it, after a migration.
create or replace function keywarden.begin_ledger() returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  k record;
  added bigint := 0;
  more bigint;
begin
  lock table keywarden.ledger_event in share row exclusive mode;
  for k in select * from keywarden.ledger_kinds() loop
    execute format('
      select count(*) from (
        select keywarden.append_event(%1$L, keywarden.%2$I(r, s.salt), s.salt)
        from keywarden.%3$I r, lateral (select case when %8$L then encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || convert_to(%4$s, ''UTF8'')), ''hex'') end) s(salt)
        where %5$s and not exists (select from keywarden.ledger_event e where e.type = %1$L and e.subject = %6$L || %4$s)
        order by %7$s) added',
      k.kind, 'describe_' || replace(k.kind, '.', '_'), k.relation,
      (select string_agg(format('(to_json(r.%I) #>> ''{}'')', column_name), ' || ''/'' || ') from unnest(k.identity) column_name),
      case when k.ends is null then 'true' else format('r.%I is not null', k.ends) end,
      k.relation || '/',
      (select string_agg(format('r.%I', column_name), ', ') from unnest(k.identity) column_name), k.personal <> '{}') into more;
    added := added + more;
  end loop;
  return added;
end
$$;
