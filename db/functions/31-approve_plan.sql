-- An approval by the report: an operator says yes to a plan that was made within a day, and the daemon carries it out within a day. Null
-- for another plan.
create or replace function keywarden.approve_plan(approved_plan text, approver text) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as
$$ insert into keywarden.plan_approval (plan_id, approved_by, via)
  select id, approver, 'report' from keywarden.plan where id = approved_plan and last_made_at > now() - interval '24 hours' returning number $$;
