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
  execute format('select coalesce((select jsonb_object_agg(p.name, to_jsonb(r) ->> p.name) from unnest(%L::text[]) p(name) '
      'where p.name <> ''token_hash'' and to_jsonb(r) ->> p.name is not null), ''{}'') from keywarden.%I r where %L || %s = %L',
    k.personal, k.relation, k.relation || '/',
    (select string_agg(format('(to_json(r.%I) #>> ''{}'')', column_name), ' || ''/'' || ') from unnest(k.identity) column_name),
    k.event_subject) into found;
  return coalesce(found, '{}');
end
$$;
