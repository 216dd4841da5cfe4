-- Who read, exported or changed what through the report. A streamed answer has two rows: begun, and how it ended.
create table keywarden.access_log (
  number bigint generated always as identity primary key,
  at timestamptz not null default now(),
  request_id uuid not null,
  token_number bigint not null references keywarden.report_token,
  address text not null,
  method text not null,
  path text not null,
  query text not null default '',
  status int not null,
  stream text check (stream in ('begun', 'complete', 'cut')),
  records bigint,
  sha256 text
);
--> statement-breakpoint
create index access_log_by_token on keywarden.access_log (token_number, number desc);
--> statement-breakpoint
-- The first use of the hour, too: what a past time is asked for must not be hidden by a later use of the same hour.
alter table keywarden.key_use add column first_used_at timestamptz;
--> statement-breakpoint
update keywarden.key_use set first_used_at = last_used_at;
--> statement-breakpoint
alter table keywarden.key_use alter column first_used_at set not null;
--> statement-breakpoint
create index key_listing_believed on keywarden.key_listing (control_plane_number, scope, listed_at desc) where doubt is null;
--> statement-breakpoint
-- An operator says no to a plan. The newest word on a plan counts: an approval after it lets the plan go.
create table keywarden.plan_rejection (
  number bigint generated always as identity primary key,
  plan_id text not null references keywarden.plan,
  rejected_by text not null check (rejected_by <> ''),
  reason text not null check (reason <> ''),
  rejected_at timestamptz not null default clock_timestamp()
);
--> statement-breakpoint
create index plan_rejection_by_plan on keywarden.plan_rejection (plan_id, rejected_at);
--> statement-breakpoint
create index plan_approval_by_plan on keywarden.plan_approval (plan_id, approved_at);
--> statement-breakpoint
-- Approvals by persons that count still: a day long, until somebody says no, and until one of the plan's was carried out or stopped. A person
-- with two tokens of one name, or with a token and the command line, is one person.
create view keywarden.standing_approval with (security_invoker = true) as
  select a.number, a.plan_id, a.approved_by, regexp_replace(a.approved_by, ' \(report token [0-9]+\)$', '') as person, a.via, a.approved_at
  from keywarden.plan_approval a
  where a.via <> 'enforcement' and a.approved_at > now() - interval '24 hours'
    and not exists (select from keywarden.plan_rejection r where r.plan_id = a.plan_id and r.rejected_at >= a.approved_at)
    and not exists (select from keywarden.approval_end e join keywarden.plan_approval x on x.number = e.approval_number
      where x.plan_id = a.plan_id and x.via <> 'enforcement' and e.at >= a.approved_at);
--> statement-breakpoint
-- How many persons have approved a plan, and how many its own policy wants.
create view keywarden.plan_standing with (security_invoker = true) as
  select p.id as plan_id, (select count(distinct s.person)::int from keywarden.standing_approval s where s.plan_id = p.id) as approvers,
    case when p.item_count > (v.document ->> 'second_person_above')::int then 2 else 1 end as approvers_needed
  from keywarden.plan p left join keywarden.policy_version v on v.sha256 = p.policy_sha256;
--> statement-breakpoint
create index rotation_by_line on keywarden.rotation (line_number);
--> statement-breakpoint
-- Who answers for each key now, and its line: whom it, or another of its line, was assigned to last, else its line's creator. It says what
-- key_line says, key by key: each step is by a unique index, for a planner that has seen no statistics begins with all keys of a scope.
create view keywarden.key_owner_now with (security_invoker = true) as
  select k.number as key_number, f.number as line_number, coalesce(
      (select o.owner from keywarden.key_owner o where o.key_number = f.number or o.key_number = any(array(
          select (select s.number from keywarden.key s
            where s.control_plane_number = f.control_plane_number and s.scope = f.scope and s.id = m.key_id)
          from keywarden.rotation r join keywarden.rotation_mint m on m.rotation_number = r.number
          where r.line_number = f.number and m.fate is distinct from 'lost' and (m.fate is not null or r.ended_at is null)))
       order by o.number desc limit 1),
      (select m.email from keywarden.member m where m.control_plane_number = k.control_plane_number and m.user_id = f.creator_id
       order by m.left_at is null desc, m.last_seen_at desc, m.email limit 1),
      f.creator_id) as owner
  from keywarden.key k
    left join lateral (
      select r.line_number from (select m.rotation_number, m.fate from keywarden.rotation_mint m
          where m.key_id = k.id and m.fate is distinct from 'lost' offset 0) m
        join keywarden.rotation r on r.number = m.rotation_number
      where (m.fate is not null or r.ended_at is null) and (select (o.control_plane_number, o.scope) = (k.control_plane_number, k.scope)
        from keywarden.key o where o.number = r.key_number)
      order by r.number limit 1) l on true
    join keywarden.key f on f.number = coalesce(l.line_number, k.number);
--> statement-breakpoint
create index member_by_user on keywarden.member (control_plane_number, user_id);
--> statement-breakpoint
-- The present of each control plane by its own clock, as far as its last listing tells.
create view keywarden.control_plane_present with (security_invoker = true) as
  select c.number as control_plane_number, coalesce(l.listed_at + (now() - l.received_at), now()) as at
  from keywarden.control_plane c left join lateral (
    select listed_at, received_at from keywarden.key_listing where control_plane_number = c.number order by number desc limit 1) l on true;
--> statement-breakpoint
-- What nobody sees through the connections that there are: of each scope what is hidden there, and of whom.
create view keywarden.blind_spot with (security_invoker = true) as
  select m.control_plane_number, 'organization:' || m.organization_id as scope, null::text as connection, 'personal_keys' as kind,
    count(*)::int as members, null::timestamptz as since
  from keywarden.member m where m.left_at is null and not exists (select from keywarden.connection c
    where c.control_plane_number = m.control_plane_number and c.account_id = m.user_id and c.removed_at is null)
  group by m.control_plane_number, m.organization_id
  union all
  select o.control_plane_number, 'organization:' || o.id, null, 'members_unknown', null, null from keywarden.organization o
  where not exists (select from keywarden.member_listing l where l.control_plane_number = o.control_plane_number and l.organization_id = o.id)
  union all
  select l.control_plane_number, l.scope, null, 'listing_old', null, l.listed_at
  from (select control_plane_number, scope, max(listed_at) as listed_at from keywarden.key_listing where doubt is null
      group by control_plane_number, scope) l
    join keywarden.control_plane_present p on p.control_plane_number = l.control_plane_number
  where l.listed_at < p.at - interval '1 day'
  union all
  select c.control_plane_number, null, c.name, 'own_key_unknown', null, c.checked_at from keywarden.connection c
  where c.own_key_id is null and c.removed_at is null;
--> statement-breakpoint
-- An access review: keys as they were at a time, each of which a person decides about. keep_for: how long the exemption of a key that is
-- kept against a rule lasts.
create table keywarden.review (
  number bigint generated always as identity primary key,
  title text not null check (title <> ''),
  as_of timestamptz not null,
  filter jsonb not null,
  holes jsonb not null,
  plan_id text references keywarden.plan,
  keep_for interval not null,
  opened_by text not null check (opened_by <> ''),
  opened_at timestamptz not null default now()
);
--> statement-breakpoint
-- key: as every list shows it. findings: what the policy said of it when the review was opened.
create table keywarden.review_item (
  review_number bigint not null references keywarden.review,
  key_number bigint not null references keywarden.key,
  key jsonb not null,
  findings jsonb not null,
  primary key (review_number, key_number)
);
--> statement-breakpoint
create table keywarden.review_decision (
  number bigint generated always as identity primary key,
  review_number bigint not null,
  key_number bigint not null,
  decision text not null check (decision in ('keep', 'revoke', 'rotate')),
  reason text not null check (reason <> ''),
  decided_by text not null check (decided_by <> ''),
  decided_at timestamptz not null default clock_timestamp(),
  foreign key (review_number, key_number) references keywarden.review_item
);
--> statement-breakpoint
create index review_decision_by_item on keywarden.review_decision (review_number, key_number, number desc);
--> statement-breakpoint
create index review_decision_by_key on keywarden.review_decision (key_number);
--> statement-breakpoint
-- sha256 is of the review as canonical JSON: what was decided, of which keys, by whom.
create table keywarden.review_signature (
  review_number bigint primary key references keywarden.review,
  signed_by text not null check (signed_by <> ''),
  signed_at timestamptz not null default clock_timestamp(),
  sha256 text not null
);
--> statement-breakpoint
-- Whoever decides or signs waits for who does so at the same time.
create function keywarden.lock_review(wanted bigint) returns bigint
  language sql security definer set search_path = pg_catalog, pg_temp as
$$ select number from keywarden.review where number = wanted for update $$;
--> statement-breakpoint
revoke execute on function keywarden.lock_review(bigint) from public;
--> statement-breakpoint
grant execute on function keywarden.lock_review(bigint) to keywarden_report;
--> statement-breakpoint
-- A signed review stays as it is, whatever the program does.
create function keywarden.refuse_signed_review() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from keywarden.review_signature s where s.review_number = new.review_number) then
    raise exception 'the review is signed' using errcode = 'KW001';
  end if;
  return new;
end
$$;
--> statement-breakpoint
create trigger signed_review_stays before insert on keywarden.review_decision
  for each row execute function keywarden.refuse_signed_review();
--> statement-breakpoint
create trigger signed_review_keeps_its_keys before insert on keywarden.review_item
  for each row execute function keywarden.refuse_signed_review();
--> statement-breakpoint
-- What the newest signed review that looked at each key decided.
create view keywarden.review_verdict with (security_invoker = true) as
  select distinct on (d.key_number) d.key_number, d.decision, d.reason, d.decided_by, d.decided_at, d.review_number
  from keywarden.review_decision d join keywarden.review_signature s on s.review_number = d.review_number
  order by d.key_number, s.signed_at desc, d.number desc;
--> statement-breakpoint
grant select on keywarden.access_log, keywarden.plan_rejection, keywarden.standing_approval, keywarden.plan_standing,
  keywarden.key_owner_now, keywarden.control_plane_present, keywarden.blind_spot, keywarden.review, keywarden.review_item, keywarden.review_decision,
  keywarden.review_signature, keywarden.review_verdict to keywarden_daemon, keywarden_report;
--> statement-breakpoint
grant insert on keywarden.access_log, keywarden.plan_rejection, keywarden.exemption, keywarden.exemption_key, keywarden.review,
  keywarden.review_item, keywarden.review_decision, keywarden.review_signature to keywarden_report;
--> statement-breakpoint
grant update (ended_at, ended_by) on keywarden.exemption to keywarden_report;
