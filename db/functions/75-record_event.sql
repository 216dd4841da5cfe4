-- Records a row as an event of the ledger (see keywarden.ledger_kinds). What cannot be recorded does not happen: both are one transaction. The second argument
-- is true for rows with personal data. The content of a row that was deleted says only that. No verifier reads a time of another form, such as infinity,
-- and none reads megabytes in one row, or a number above 10^308: an event with any of them would spoil each copy of the ledger, or each archive of evidence, for good.
create or replace function keywarden.record_event() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  salt text;
  described text[];
  longest int;
  is_huge boolean := false;
begin
  if tg_argv[1]::boolean then
    salt := encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  end if;
  execute format('select keywarden.%I($1, $2)', 'describe_' || replace(tg_argv[0], '.', '_')) using coalesce(new, old), salt into described;
  if tg_op = 'DELETE' then
    if not exists (select from keywarden.ledger_event e where e.type = tg_argv[0] and e.subject = described[1]) then
      return null;
    end if;
    described := array[described[1], null, null, '{"deleted":"true"}'];
    salt := null;
  end if;
  if described[2] !~ '^[1-9]\d{3}-[-\d:.T]+Z$' or described[4] ~ '"(-?infinity|\d{5,}-[-\d:.T]+|[-\d:.T]+ BC)Z"' then
    raise exception 'the ledger has no event with a time of another form' using errcode = 'datetime_field_overflow';
  end if;
  longest := octet_length(described[4]);
  if salt is not null then
    select greatest(longest, max(octet_length(r ->> p.name))), bool_or(jsonb_typeof(r -> p.name) <> 'string' and r ->> p.name ~ '\d{200}\d{109}')
      into longest, is_huge
      from to_jsonb(coalesce(new, old)) r, keywarden.ledger_kinds() k, unnest(k.personal) p(name) where k.kind = tg_argv[0];
  end if;
  if is_huge then
    raise exception 'the ledger has no event with a number of so many digits' using errcode = 'numeric_value_out_of_range';
  end if;
  if longest > 4000000 then
    raise exception 'the ledger has no event of so many bytes: %', longest using errcode = 'string_data_right_truncation';
  end if;
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
