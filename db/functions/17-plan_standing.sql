-- The number of persons who have approved each plan, the number that its own policy requires, and the newer plan that supersedes it. The keys of a plan count
-- together with those that one person alone approved in the day before: otherwise one person could approve any number of keys, in small parts or in plans
-- that exemptions keep small. That is the day before the plan's own first approval. Later hours must not let an approval expire that the plan was
-- counted with.
create view keywarden.plan_standing with (security_invoker = true) as
  select p.id as plan_id, (select count(distinct s.person)::int from keywarden.standing_approval s where s.plan_id = p.id) as approvers,
    -- The largest plan alone may have too many keys. Otherwise all of them have few, and are compared: each key counts once.
    case when greatest(p.item_count, (select max(o.item_count) from keywarden.plan o where o.id = any(alone.plans))) > v.most then 2
      when p.item_count + (
        select count(distinct f.key_number) from keywarden.finding_now f
        where f.plan_id = any(alone.plans) and f.disposition = 'planned' and not exists (select from keywarden.finding_now own
          where own.plan_id = p.id and own.key_number = f.key_number and own.disposition = 'planned')) > v.most then 2
      else 1 end as approvers_needed,
    nullif((select n.id from keywarden.newest_plan n), coalesce(p.derived_from, p.id)) as superseded_by
  from keywarden.plan p
    left join lateral (select (w.document::jsonb ->> 'second_person_above')::int as most from keywarden.policy_version w where w.sha256 = p.policy_sha256) v on true
    cross join lateral (select min(b.approved_at) as at from keywarden.plan_approval b
      where b.plan_id = p.id and b.via <> 'enforcement' and b.approved_at > now() - interval '24 hours') own
    cross join lateral (select array(
        select a.plan_id from keywarden.plan_approval a left join keywarden.counted_approval c on c.number = a.number
        where v.most is not null and a.plan_id <> p.id and a.via <> 'enforcement' and a.approved_at > coalesce(own.at, now()) - interval '24 hours'
          and a.approved_at < coalesce(own.at, 'infinity')
        group by a.plan_id having count(distinct c.person) < 2) as plans) alone;
