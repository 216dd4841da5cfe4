-- The findings of each plan as it was last produced.
create view keywarden.finding_now with (security_invoker = true) as
  select f.* from keywarden.finding f join keywarden.plan p on p.id = f.plan_id and p.findings_at = f.made_at;
