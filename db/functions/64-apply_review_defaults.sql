-- Decides about the undecided keys of each unsigned review whose campaign is due and has a default decision. The campaign is recorded as the one who
-- decided; a person still signs. Returns the number of decisions.
create or replace function keywarden.apply_review_defaults() returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  due record;
  decided bigint;
  total bigint := 0;
begin
  for due in
    select r.number, c.number as campaign, c.due_at, c.default_decision
    from keywarden.review r join keywarden.review_campaign c on c.number = r.campaign_number
    where c.default_decision <> 'none' and c.due_at <= now() and c.canceled_at is null
      and not exists (select from keywarden.review_signature s where s.review_number = r.number) order by r.number for update of r for share of c
  loop
    -- A review that was signed while this waited for its row has no undecided key. A campaign that was canceled meanwhile is left out, as its row is locked.
    insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by)
      select i.review_number, i.key_number, due.default_decision,
        format('undecided at the due date, %s', to_char(due.due_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')),
        keywarden.campaign_default(due.campaign)
      from keywarden.review_item_now i where i.review_number = due.number and i.decision is null;
    get diagnostics decided = row_count;
    total := total + decided;
  end loop;
  return total;
end
$$;
