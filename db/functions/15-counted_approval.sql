-- Approvals that count, for as long as they do. One ends if a person rejects the plan, or if its token is revoked, even if its transaction ends only then. One
-- that the database's clock dates in the future never counts: the clock was ahead then, and the approval is ended before its date comes. A person with two
-- tokens of the same name, or with a token and the command line, is one person.
create view keywarden.counted_approval with (security_invoker = true) as
  select a.number, a.plan_id, a.approved_by, regexp_replace(a.approved_by, ' \(report token [0-9]+\)$', '') as person, a.via, a.approved_at
  from keywarden.plan_approval a
  where not keywarden.clock_was_ahead(a.approved_at)
    and not exists (select from keywarden.approval_end e where e.approval_number = a.number and e.at < a.approved_at)
    and not (a.via = 'report' and keywarden.token_was_revoked(a.approved_by))
    and not exists (select from keywarden.plan_rejection r where r.plan_id = a.plan_id and r.rejected_at >= a.approved_at);
