-- Records the rejection of a plan by an operator. It overrules each earlier approval that counts, also if the database's clock was a little ahead then.
create or replace function keywarden.reject_plan(credential text, rejected_plan text, why text) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into keywarden.plan_rejection (plan_id, rejected_by, reason, rejected_at)
  select rejected_plan, h.acts_as, why, greatest(clock_timestamp(), (select max(a.approved_at) from keywarden.plan_approval a
    where a.plan_id = rejected_plan and not keywarden.clock_was_ahead(a.approved_at)))
  from keywarden.require_holder(credential, 'operator', true) h returning number
$$;
