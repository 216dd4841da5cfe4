-- Lets a login store only a seal that verifiers can read, of a day that has ended, and that replaces the day's newest one. Any other would spoil the archives of
-- its project and day for good, as its event is signed. The forms are those of packages/core/src/ledger/seal.ts.
create or replace function keywarden.refuse_malformed_seal() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  at text := format('"(%sT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{0,5}[1-9])?|%sT00:00:00)Z"', to_char(new.day, 'YYYY-MM-DD'), to_char(new.day + 1, 'YYYY-MM-DD'));
  list text := replace('^\[(\{"from":AT,"from_included":(true|false)(,"reason":"REASON")?,"to":AT,"to_included":(true|false)\}(,(?!\])|(?=\])))*\]$', 'AT', at);
begin
  if pg_has_role(current_user, (select n.nspowner from pg_namespace n where n.nspname = 'keywarden'), 'member') then
    return new;
  end if;
  if (new.number > 0 and new.project like '% %' and new.operations between 0 and 999999999999999 and new.root ~ '^[0-9a-f]{64}$'
      and new.day >= '2010-01-01' and least(new.sealed_at, clock_timestamp()) >= (new.day + 1)::timestamp at time zone 'UTC'
      and new.covered ~ replace(list, 'REASON', '(not_created|deleted)') and new.gaps ~ replace(list, 'REASON', '[a-z_]+')
      and new.replaces is not distinct from (select max(s.number) from keywarden.operation_seal s
        where s.project_number = new.project_number and s.day = new.day)) is not true then
    raise exception 'the seal is malformed, or does not replace the newest one of its day' using errcode = 'check_violation';
  end if;
  return new;
end
$$;
