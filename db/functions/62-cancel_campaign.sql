-- Cancels a campaign by an auditor: its unsigned reviews are no longer reminded of, decided by default or overdue. Signed reviews stay. Returns whether
-- it was open.
create or replace function keywarden.cancel_campaign(credential text, wanted bigint, why text) returns boolean
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
begin
  perform from keywarden.review_campaign where number = wanted for no key update;
  -- The token may have been revoked while this waited.
  select * into holder from keywarden.require_holder(credential, 'auditor', true);
  update keywarden.review_campaign set canceled_at = clock_timestamp(), canceled_by = holder.acts_as, canceled_because = why
    where number = wanted and canceled_at is null;
  return found;
end
$$;
