-- Lets only the owner's functions record an approval as one of the report, because the report's functions derive who approves from a token. An approval
-- is always of now, also in a transaction that began before.
create or replace function keywarden.refuse_invented_approval() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if pg_has_role(current_user, (select n.nspowner from pg_namespace n where n.nspname = 'keywarden'), 'member') then
    return new;
  end if;
  if new.via = 'report' or new.approved_at not between now() and clock_timestamp() then
    raise exception 'an approval of the report needs its token' using errcode = 'insufficient_privilege';
  end if;
  new.approved_at := clock_timestamp();
  return new;
end
$$;
