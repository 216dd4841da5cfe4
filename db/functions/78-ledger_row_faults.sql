-- Returns the rows that differ from the ledger. altered: the row is not what its newest event says, or not what an earlier one says of a column that never
-- changes, or of an end that is set once; or its time or its actor are not those of the leaf. removed: the row of an event is gone. An event that says that its row was deleted counts only
-- in tables whose rows Keywarden deletes. added: a row has no event. repeated: a row that never changes has two events. Personal data counts as long as its
-- salt is there; once the salt is deleted, the data may only be erased: missing, or a text that begins with "erased". To erase an end that is set
-- once adds events to it: once one of them has no salt, only the newest is compared with the personal data. Personal data for which the event has no hash
-- may not be there.
create or replace function keywarden.ledger_row_faults() returns table (type text, subject text, fault text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  k record;
  recorded text[] := array(select distinct e.type from keywarden.ledger_event e);
  has_rows boolean;
begin
  for k in select * from keywarden.ledger_kinds() loop
    -- To plan the comparison takes longer than to see that there is nothing to compare.
    if k.kind <> all (recorded) then
      execute format('select exists (select from keywarden.%I)', k.relation) into has_rows;
      continue when not has_rows;
    end if;
    return query execute format('
      with events as (
        select e.subject, e.content, e.leaf, s.salt, e.number = max(e.number) over w as is_newest, count(*) over w as events,
          bool_or(s.salt is null) over w as is_erased
        from keywarden.ledger_event e left join keywarden.ledger_salt s on s.event_number = e.number
        where e.type = %1$L window w as (partition by e.subject)
      ), present as (
        select %6$L || %4$s as subject, r as record, %5$s as is_due from keywarden.%3$I r
      )
      select distinct %1$L, c.subject, c.fault from (
        select subject, case
          when p.subject is null then case when e.is_newest and (e.content <> ''{"deleted":"true"}'' or not %11$L) then ''removed'' end
          when e.subject is null then case when p.is_due then ''added'' end
          when e.leaf::jsonb ->> ''content'' is distinct from encode(sha256(convert_to(e.content, ''UTF8'')), ''hex'') then ''altered''
          when e.events > 1 and %8$L = ''{}'' then ''repeated''
          when e.is_newest and not p.is_due then case when e.content::jsonb ->> %9$L is not null then ''altered'' end
          when e.content = ''{"deleted":"true"}'' and (e.is_newest or not %11$L) then ''altered''
          when e.salt is null and e.content <> ''{"deleted":"true"}'' and exists (select from unnest(%7$L::text[]) personal(name)
            where to_jsonb(p.record) ->> personal.name !~ ''^[^[:alnum:]]*erased''
              or to_jsonb(p.record) ->> personal.name is not null and not e.content::jsonb ? personal.name) then ''altered''
          when e.is_newest and e.leaf::jsonb ->> ''at'' is distinct from coalesce(l.described[2], e.leaf::jsonb ->> ''recorded'') then ''altered''
          when e.is_newest and (e.salt is not null or %7$L = ''{}'') then
            case when (l.described[4], l.described[3]) is distinct from (e.content, e.leaf::jsonb ->> ''actor'') then ''altered'' end
          when e.content <> ''{"deleted":"true"}'' then
            case when l.described[4]::jsonb - l.left_out is distinct from e.content::jsonb - l.left_out then ''altered'' end
          end as fault
        from events e full join present p using (subject) cross join lateral (select keywarden.%2$I(p.record, coalesce(e.salt, '''')) as described,
          case when e.is_newest or %12$L then ''{}'' else %10$L::text[] end
            || case when e.salt is null or %12$L and e.is_erased then %7$L::text[] else ''{}'' end as left_out offset 0) l) c
      where c.fault is not null',
      k.kind, 'describe_' || replace(k.kind, '.', '_'), k.relation,
      (select string_agg(format('(to_json(r.%I) #>> ''{}'')', column_name), ' || ''/'' || ') from unnest(k.identity) column_name),
      case when k.ends is null then 'true' else format('r.%I is not null', k.ends) end,
      k.relation || '/', k.personal, k.changes, k.ends, k.changes || k.hashed, k.relation = any(keywarden.ledger_deletes()),
      k.kind = any(keywarden.ledger_ends_once()));
  end loop;
end
$$;
