-- The number of persons who have approved each plan, and the number that its own policy requires.
create view keywarden.plan_standing with (security_invoker = true) as
  select p.id as plan_id, (select count(distinct s.person)::int from keywarden.standing_approval s where s.plan_id = p.id) as approvers,
    case when p.item_count > (v.document ->> 'second_person_above')::int then 2 else 1 end as approvers_needed
  from keywarden.plan p left join keywarden.policy_version v on v.sha256 = p.policy_sha256;
