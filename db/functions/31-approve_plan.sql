-- Records an approval from the report: an operator approves the newest plan or a part of it, if it was produced within the last day. The daemon
-- carries it out within a day. Returns null for any other plan. Approvals follow one another, also those of open transactions: parts of plans count together
-- with what was approved before them (keywarden.plan_standing).
create or replace function keywarden.approve_plan(credential text, approved_plan text) returns bigint
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
  made bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('approvals of plans', 2));
  -- The token may have been revoked while this waited.
  select * into holder from keywarden.require_holder(credential, 'operator', true);
  insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at)
    select p.id, holder.acts_as, 'report', greatest(clock_timestamp(), (select max(a.approved_at) + interval '1 microsecond'
        from keywarden.plan_approval a where not keywarden.clock_was_ahead(a.approved_at)))
    from keywarden.plan p
    where p.id = approved_plan and p.last_made_at > clock_timestamp() - interval '24 hours' and exists (
      select from keywarden.newest_plan n where n.id = coalesce(p.derived_from, p.id)) returning number into made;
  return made;
end
$$;
