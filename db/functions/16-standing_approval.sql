-- Approvals by persons that are still valid, for one day. An approval ends earlier once one of the plan's approvals was carried out or stopped.
create view keywarden.standing_approval with (security_invoker = true) as
  select a.number, a.plan_id, a.approved_by, a.person, a.via, a.approved_at
  from keywarden.counted_approval a
  where a.via <> 'enforcement' and a.approved_at > now() - interval '24 hours'
    and not exists (select from keywarden.approval_end e join keywarden.plan_approval x on x.number = e.approval_number
      where x.plan_id = a.plan_id and x.via <> 'enforcement' and (x.number >= a.number or e.at >= greatest(a.approved_at, x.approved_at)));
