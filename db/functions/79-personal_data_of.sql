-- Returns the personal data of an event as its row has it now, by name. Data that was erased since has another hash than the event.
create or replace function keywarden.personal_data_of(event bigint) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  k record;
  found jsonb;
begin
  select kinds.*, e.subject as event_subject into k
    from keywarden.ledger_event e join keywarden.ledger_kinds() kinds on kinds.kind = e.type where e.number = event;
  -- The hashes of tokens are for the owner only.
  execute format('select (select jsonb_object_agg(p.name, to_jsonb(r) ->> p.name) from unnest(%L::text[]) p(name) '
      'where p.name <> ''token_hash'' and to_jsonb(r) ->> p.name is not null) from keywarden.%I r where %s',
    k.personal, k.relation,
    (select string_agg(format('r.%I = %L::%s', i.name, split_part(k.event_subject, '/', i.place::int + 1), format_type(a.atttypid, a.atttypmod)), ' and ')
      from unnest(k.identity) with ordinality i(name, place)
        join pg_attribute a on a.attrelid = format('keywarden.%I', k.relation)::regclass and a.attname = i.name)) into found;
  return coalesce(found, '{}');
end
$$;
