-- Returns the rows that differ from the ledger. altered: the row is not what its newest event says. removed: the row of an event is gone. added: a row has
-- no event. Personal data counts as long as its salt is there; once the salt is deleted, the data may be erased.
create or replace function keywarden.ledger_row_faults() returns table (type text, subject text, fault text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  k record;
begin
  for k in select * from keywarden.ledger_kinds() loop
    return query execute format('
      with newest as (
        select distinct on (e.subject) e.subject, e.content, e.leaf, s.salt from keywarden.ledger_event e
          left join keywarden.ledger_salt s on s.event_number = e.number
        where e.type = %1$L order by e.subject, e.number desc
      ), present as (
        select %6$L || %4$s as subject, r as record, %5$s as is_due from keywarden.%3$I r
      )
      select %1$L, c.subject, c.fault from (
        select subject, case
          when p.subject is null then case when n.content <> ''{"deleted":"true"}'' then ''removed'' end
          when n.subject is null then case when p.is_due then ''added'' end
          when n.leaf::jsonb ->> ''content'' is distinct from encode(sha256(convert_to(n.content, ''UTF8'')), ''hex'') then ''altered''
          when n.salt is not null or %7$L = ''{}'' then case when (keywarden.%2$I(p.record, n.salt))[4] is distinct from n.content then ''altered'' end
          when ((keywarden.%2$I(p.record, ''''))[4])::jsonb - %7$L::text[] is distinct from n.content::jsonb - %7$L::text[] then ''altered''
          end as fault
        from newest n full join present p using (subject)) c
      where c.fault is not null',
      k.kind, 'describe_' || replace(k.kind, '.', '_'), k.relation,
      (select string_agg(format('(to_json(r.%I) #>> ''{}'')', column_name), ' || ''/'' || ') from unnest(k.identity) column_name),
      case when k.ends is null then 'true' else format('r.%I is not null', k.ends) end,
      k.relation || '/', k.personal);
  end loop;
end
$$;
