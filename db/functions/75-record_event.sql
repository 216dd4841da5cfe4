-- Records a row as an event of the ledger (see keywarden.ledger_kinds). What cannot be recorded does not happen: both are one transaction.
create or replace function keywarden.record_event() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  salt text := encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  described text[];
begin
  execute format('select keywarden.%I($1, $2)', 'describe_' || replace(tg_argv[0], '.', '_')) using new, salt into described;
  perform keywarden.append_event(tg_argv[0], described, salt);
  return null;
end
$$;
