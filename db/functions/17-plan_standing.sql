-- The number of persons who have approved each plan, the number that its own policy requires, and the newer plan that supersedes it. Parts of one plan
-- that were approved within a day count together: nobody can avoid the second person by approving parts.
create view keywarden.plan_standing with (security_invoker = true) as
  select p.id as plan_id, (select count(distinct s.person)::int from keywarden.standing_approval s where s.plan_id = p.id) as approvers,
    case when p.item_count + (
        select coalesce(sum(o.item_count), 0) from keywarden.plan o where o.id <> p.id and coalesce(o.derived_from, o.id) = coalesce(p.derived_from, p.id)
          and exists (select from keywarden.plan_approval a where a.plan_id = o.id and a.via <> 'enforcement' and a.approved_at > now() - interval '24 hours'
            and a.approved_at < coalesce((select min(b.approved_at) from keywarden.plan_approval b where b.plan_id = p.id and b.via <> 'enforcement'
              and b.approved_at > now() - interval '24 hours'), 'infinity'))
      ) > (v.document ->> 'second_person_above')::int then 2 else 1 end as approvers_needed,
    (select n.id from keywarden.newest_plan n where n.id <> coalesce(p.derived_from, p.id)) as superseded_by
  from keywarden.plan p left join keywarden.policy_version v on v.sha256 = p.policy_sha256;
