-- Rejections that no later approval in the report overrules. An approval counts only if it is later than each rejection of its plan.
create view keywarden.standing_rejection with (security_invoker = true) as
  select r.number, r.plan_id, r.rejected_by, r.reason, r.rejected_at
  from keywarden.plan_rejection r
  where not exists (select from keywarden.counted_approval a where a.plan_id = r.plan_id and a.via = 'report');
