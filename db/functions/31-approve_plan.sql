-- Records an approval from the report: an operator approves a plan that was produced within the last day. The daemon carries it out within a
-- day. Returns null for any other plan.
create or replace function keywarden.approve_plan(approved_plan text, approver text) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as
$$ insert into keywarden.plan_approval (plan_id, approved_by, via)
  select id, approver, 'report' from keywarden.plan where id = approved_plan and last_made_at > now() - interval '24 hours' returning number $$;
