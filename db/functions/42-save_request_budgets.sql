-- Writes all budgets of one reservation, or none if another writer came first.
create or replace function keywarden.save_request_budgets(names text[], versions bigint[], states jsonb[]) returns boolean
language plpgsql set search_path = keywarden, pg_temp as $$
declare
  found_rows int;
begin
  insert into request_budget (name, state) select n, '{}' from unnest(names) as n order by n on conflict (name) do nothing;
  perform 1 from request_budget b where b.name = any(names) order by b.name for update;
  update request_budget b set version = b.version + 1, state = w.state
  from unnest(names, versions, states) as w(name, version, state)
  where b.name = w.name and (select count(*) from unnest(names, versions) as o(name, version)
    join request_budget c on c.name = o.name and c.version = o.version) = cardinality(names);
  get diagnostics found_rows = row_count;
  return found_rows > 0;
end
$$;
