-- Creates, for each kind of keywarden.ledger_kinds, the function that describes a row of it and the trigger that records the row. Exemptions and reviews
-- are recorded when their transaction ends, because their keys are added after them.
do $$
declare
  k record;
  members text;
  described text;
  name text;
begin
  for k in select * from keywarden.ledger_kinds() loop
    name := replace(k.kind, '.', '_');
    select string_agg(format('(%L, coalesce(%s, ''null''))', a.attname,
      case
        when a.attname = any(k.hashed) then format('keywarden.ledger_hash(r.%I::text)', a.attname)
        when a.attname = any(k.personal) then
          format('''{"salted":"'' || keywarden.ledger_salted(salt, %L, to_json(r.%I) #>> ''{}'') || ''"}''', a.attname, a.attname)
        when a.atttypid = 'timestamptz'::regtype then format('to_json(keywarden.ledger_time(r.%I))::text', a.attname)
        when a.atttypid = 'interval'::regtype then format('to_json(extract(epoch from r.%I)::text)::text', a.attname)
        when a.atttypid = 'jsonb'::regtype then format('to_json(r.%I::text)::text', a.attname)
        else format('to_json(to_json(r.%I) #>> ''{}'')::text', a.attname)
      end), ', ')
    into members
    from pg_attribute a
    where a.attrelid = format('keywarden.%I', k.relation)::regclass and a.attname = any(k.fields || k.hashed || k.personal);
    described := format('array[%L || %s, %s, %s, (select ''{'' || string_agg(to_json(m.name)::text || '':'' || m.value, '','' order by m.name collate "C") || ''}'' '
        'from (values %s union all select * from keywarden.ledger_related(%L, %s, %s)) m(name, value))]',
      k.relation || '/',
      (select string_agg(format('(to_json(r.%I) #>> ''{}'')', column_name), ' || ''/'' || ') from unnest(k.identity) column_name),
      case when k.at is null then 'null' else format('keywarden.ledger_time(r.%I)', k.at) end,
      case when k.actor is null then 'null' else format('keywarden.ledger_salted(salt, %L, r.%I)', k.actor, k.actor) end,
      members, k.kind,
      case when k.relation in ('exemption', 'review') then 'r.number' else 'null' end,
      case when 'key_number' = any(k.fields) then 'r.key_number' else 'null' end);
    execute format('create or replace function keywarden.%I(r keywarden.%I, salt text) returns text[] '
      'language sql stable set search_path = pg_catalog, pg_temp as %L', 'describe_' || name, k.relation, 'select ' || described);
    -- A migration holds a lock on its own table. keywarden.begin_ledger records it right after.
    continue when k.relation = 'migration';
    execute format('drop trigger if exists %I on keywarden.%I', 'ledger_' || name, k.relation);
    execute format('drop trigger if exists %I on keywarden.%I', 'ledger_' || name || '_changed', k.relation);
    if k.kind in ('exemption.granted', 'review.opened') then
      execute format('create constraint trigger %I after insert on keywarden.%I deferrable initially deferred for each row '
        'execute function keywarden.record_event(%L)', 'ledger_' || name, k.relation, k.kind);
    else
      execute format('create trigger %I after insert on keywarden.%I for each row %s execute function keywarden.record_event(%L)',
        'ledger_' || name, k.relation, case when k.ends then format('when (new.%I is not null)', k.changed[1]) else '' end, k.kind);
    end if;
    if cardinality(k.changed) > 0 then
      execute format('create trigger %I after update on keywarden.%I for each row when ((%s) is distinct from (%s)%s) '
          'execute function keywarden.record_event(%L)', 'ledger_' || name || '_changed', k.relation,
        (select string_agg(format('old.%I', column_name), ', ') from unnest(k.changed) column_name),
        (select string_agg(format('new.%I', column_name), ', ') from unnest(k.changed) column_name),
        case when k.ends then format(' and new.%I is not null', k.changed[1]) else '' end, k.kind);
    end if;
  end loop;
end
$$;
