-- Gives waiting events their places in the tree, in this order, right after the events that have one.
create or replace function keywarden.place_events(size bigint, numbers bigint[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  placed bigint;
begin
  if size <> coalesce((select max(e.leaf_index) + 1 from keywarden.ledger_event e), 0) then
    raise exception 'the ledger has another number of events' using errcode = 'serialization_failure';
  end if;
  update keywarden.ledger_event e set leaf_index = size + w.place - 1 from unnest(numbers) with ordinality as w(number, place)
    where e.number = w.number and e.leaf_index is null;
  get diagnostics placed = row_count;
  if placed <> cardinality(numbers) then
    raise exception 'an event is in the ledger already' using errcode = 'serialization_failure';
  end if;
end
$$;
