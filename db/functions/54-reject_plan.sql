-- Records the rejection of a plan by an operator.
create or replace function keywarden.reject_plan(credential text, rejected_plan text, why text) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into keywarden.plan_rejection (plan_id, rejected_by, reason)
  select rejected_plan, h.acts_as, why from keywarden.require_holder(credential, 'operator', true) h returning number
$$;
