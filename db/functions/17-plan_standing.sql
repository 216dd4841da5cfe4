-- The number of persons who have approved each plan, the number that its own policy requires, and the newer plan that supersedes it. Parts count together
-- with all other plans that persons approved in the day before: otherwise one person could approve any number of keys in small parts. That is the day
-- before the plan's own first approval. Later hours must not let an approval expire that the plan was counted with.
create view keywarden.plan_standing with (security_invoker = true) as
  select p.id as plan_id, (select count(distinct s.person)::int from keywarden.standing_approval s where s.plan_id = p.id) as approvers,
    case when p.item_count + (
        select coalesce(sum(o.item_count), 0) from keywarden.plan o join (
            select distinct a.plan_id from keywarden.plan_approval a
            where a.via <> 'enforcement' and a.approved_at > coalesce(own.at, now()) - interval '24 hours'
              and a.approved_at < coalesce(own.at, 'infinity')) other on other.plan_id = o.id
        where o.id <> p.id and (o.derived_from is not null or p.derived_from is not null)
      ) > (v.document::jsonb ->> 'second_person_above')::int then 2 else 1 end as approvers_needed,
    nullif((select n.id from keywarden.newest_plan n), coalesce(p.derived_from, p.id)) as superseded_by
  from keywarden.plan p left join keywarden.policy_version v on v.sha256 = p.policy_sha256
    cross join lateral (select min(b.approved_at) as at from keywarden.plan_approval b
      where b.plan_id = p.id and b.via <> 'enforcement' and b.approved_at > now() - interval '24 hours') own;
