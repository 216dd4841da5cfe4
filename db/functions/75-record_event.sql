-- Records a row as an event of the ledger (see keywarden.ledger_kinds). What cannot be recorded does not happen: both are one transaction. The second argument
-- is true for rows with personal data.
create or replace function keywarden.record_event() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  salt text;
  described text[];
begin
  if tg_argv[1]::boolean then
    salt := encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  end if;
  execute format('select keywarden.%I($1, $2)', 'describe_' || replace(tg_argv[0], '.', '_')) using new, salt into described;
  perform keywarden.append_event(tg_argv[0], described, salt);
  return null;
end
$$;
-- Records all rows of a statement at once. Thousands of days are sealed in one.
create or replace function keywarden.record_events() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  execute format('insert into keywarden.ledger_event (type, subject, leaf, content, recorded_at) '
      'select $1, described[1], keywarden.ledger_leaf($1, described, $2), described[4], $2 '
      'from (select keywarden.%I(a, null) as described from added a order by number offset 0) d',
    'describe_' || replace(tg_argv[0], '.', '_')) using tg_argv[0], clock_timestamp();
  return null;
end
$$;
