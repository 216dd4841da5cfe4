-- An event of the ledger never changes, except that it gets its place in the tree once.
create or replace function keywarden.refuse_changed_event() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'events of the ledger never change' using errcode = 'insufficient_privilege';
end
$$;
create or replace trigger ledger_is_kept before update on keywarden.ledger_event for each row
  when (old.leaf_index is not null or (old.number, old.type, old.subject, old.leaf, old.content, old.recorded_at)
    is distinct from (new.number, new.type, new.subject, new.leaf, new.content, new.recorded_at))
  execute function keywarden.refuse_changed_event();
create or replace trigger ledger_is_not_deleted before delete on keywarden.ledger_event for each row
  execute function keywarden.refuse_changed_event();
