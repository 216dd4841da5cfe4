-- Approvals by persons that are still valid. An approval is valid for one day. It ends earlier if a person rejects the plan, or once one of
-- the plan's approvals was carried out or stopped, or once its own token was revoked, even if its transaction ends only then. A person with two
-- tokens of the same name, or with a token and the command line, is one person. One that the database's clock dates in the future does not
-- count: the clock was ahead then.
create view keywarden.standing_approval with (security_invoker = true) as
  select a.number, a.plan_id, a.approved_by, regexp_replace(a.approved_by, ' \(report token [0-9]+\)$', '') as person, a.via, a.approved_at
  from keywarden.plan_approval a
  where a.via <> 'enforcement' and a.approved_at > now() - interval '24 hours' and not keywarden.clock_was_ahead(a.approved_at)
    and not exists (select from keywarden.report_token t
      where a.via = 'report' and t.revoked_at is not null and a.approved_by like '% (report token ' || t.number || ')')
    and not exists (select from keywarden.plan_rejection r where r.plan_id = a.plan_id and r.rejected_at >= a.approved_at)
    and not exists (select from keywarden.approval_end e join keywarden.plan_approval x on x.number = e.approval_number
      where x.plan_id = a.plan_id and x.via <> 'enforcement' and (x.number >= a.number or e.at >= greatest(a.approved_at, x.approved_at)));
