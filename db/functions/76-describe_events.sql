-- Creates, for each kind of keywarden.ledger_kinds, the function that describes a row of it and the trigger that records the row. Exemptions and reviews
-- are recorded when their transaction ends, because their keys are added after them.
do $$
declare
  k record;
  members text;
  described text;
  name text;
  is_personal boolean;
begin
  for k in select * from keywarden.ledger_kinds() loop
    name := replace(k.kind, '.', '_');
    is_personal := k.personal <> '{}';
    -- The members are in the order of their names, as canonical JSON requires. Later columns are never the first.
    select string_agg(case
        when m.name = any(keywarden.ledger_later()) then format('coalesce('',"%s":'' || %s, '''')', m.name, m.value)
        else format('''%s"%s":'' || coalesce(%s, ''null'')', case when m.place = 1 then '' else ',' end, m.name, m.value)
      end, ' || ' order by m.place)
    into members
    from (
      select named.name, named.value, row_number() over (order by named.name collate "C") as place from (
        select a.attname::text, case
          when a.attname = any(k.hashed) then format('keywarden.ledger_hash(r.%I::text)', a.attname)
          when a.attname = any(k.personal) then
            format('''{"salted":"'' || keywarden.ledger_salted(salt, %L, to_json(r.%I) #>> ''{}'') || ''"}''', a.attname, a.attname)
          when a.atttypid = 'timestamptz'::regtype then format('''"'' || keywarden.ledger_time(r.%I) || ''"''', a.attname)
          when a.atttypid = 'interval'::regtype then format('to_json(extract(epoch from r.%I)::text)::text', a.attname)
          when a.atttypid in ('text'::regtype, 'date'::regtype) then format('to_json(r.%I)::text', a.attname)
          when a.atttypid = 'bigint'::regtype then format('''"'' || r.%I || ''"''', a.attname)
          else format('to_json(to_json(r.%I) #>> ''{}'')::text', a.attname)
        end
        from pg_attribute a
        where a.attrelid = format('keywarden.%I', k.relation)::regclass and a.attname = any(k.fields || k.hashed || k.personal)
        union all
        select related.name, related.value from keywarden.ledger_related() related
        where related.kind = k.kind or related.kind is null and 'key_number' = any(k.fields)
      ) named(name, value)
    ) m;
    described := format('array[%L || %s, %s, %s, ''{'' || %s || ''}'']',
      k.relation || '/',
      (select string_agg(format('(to_json(r.%I) #>> ''{}'')', column_name), ' || ''/'' || ') from unnest(k.identity) column_name),
      case when k.at is null then 'null' else format('keywarden.ledger_time(r.%I)', k.at) end,
      case when k.actor is null then 'null' else format('keywarden.ledger_salted(salt, %L, r.%I)', k.actor, k.actor) end,
      members);
    execute format('create or replace function keywarden.%I(r keywarden.%I, salt text) returns text[] '
      'language sql stable as %L', 'describe_' || name, k.relation, 'select ' || described);
    -- A migration holds a lock on its own table. keywarden.begin_ledger records it right after.
    continue when k.relation = 'migration';
    execute format('drop trigger if exists %I on keywarden.%I', 'ledger_' || name, k.relation);
    execute format('drop trigger if exists %I on keywarden.%I', 'ledger_' || name || '_changed', k.relation);
    execute format('drop trigger if exists %I on keywarden.%I', 'ledger_' || name || '_deleted', k.relation);
    if k.kind in ('exemption.granted', 'review.opened') then
      execute format('create constraint trigger %I after insert on keywarden.%I deferrable initially deferred for each row '
        'execute function keywarden.record_event(%L, %L)', 'ledger_' || name, k.relation, k.kind, is_personal);
    elsif k.relation = 'operation_seal' then
      execute format('create trigger %I after insert on keywarden.%I referencing new table as added for each statement '
        'execute function keywarden.record_events(%L)', 'ledger_' || name, k.relation, k.kind);
    else
      execute format('create trigger %I after insert on keywarden.%I for each row %s execute function keywarden.record_event(%L, %L)',
        'ledger_' || name, k.relation, 'when (' || case when k.ends is null then 'true' else format('new.%I is not null', k.ends) end || ')', k.kind, is_personal);
    end if;
    if cardinality(k.changes) > 0 then
      execute format('create trigger %I after update on keywarden.%I for each row when ((%s) is distinct from (%s) and %s) '
          'execute function keywarden.record_event(%L, %L)', 'ledger_' || name || '_changed', k.relation,
        (select string_agg(format('old.%I', column_name), ', ') from unnest(k.changes) column_name),
        (select string_agg(format('new.%I', column_name), ', ') from unnest(k.changes) column_name),
        case when k.ends is null then 'true' else format('(old.%1$I is not null or new.%1$I is not null)', k.ends) end, k.kind, is_personal);
    end if;
    if k.relation = any(keywarden.ledger_deletes()) then
      execute format('create trigger %I after delete on keywarden.%I for each row execute function keywarden.record_event(%L, %L)',
        'ledger_' || name || '_deleted', k.relation, k.kind, is_personal);
    end if;
  end loop;
end
$$;
