-- Records decisions about keys of an open review by an auditor: all of them, or none. The lock makes decisions and signatures wait for each other.
-- Every decision needs a reason, except keep for a key whose risk is below the limit of the review's campaign. Returns decided, signed, 'not its keys',
-- 'not rotated' or 'no reason'.
create or replace function keywarden.decide_review(credential text, wanted bigint, for_keys bigint[], decided text, why text) returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
  found_keys bigint[];
  needs_reason text;
begin
  perform from keywarden.review where number = wanted for update;
  -- The token may have been revoked while this waited.
  select * into holder from keywarden.require_holder(credential, 'auditor', true);
  if exists (select from keywarden.review_signature s where s.review_number = wanted) then
    return 'signed';
  end if;
  select array_agg(i.key_number) into found_keys from keywarden.review_item i where i.review_number = wanted and i.key_number = any(for_keys);
  if exists (select from unnest(for_keys) k where not coalesce(k = any(found_keys), false)) or coalesce(cardinality(for_keys), 0) = 0 then
    return 'not its keys';
  end if;
  if decided = 'rotate' and exists (select from unnest(found_keys) k where not exists (select from keywarden.key where number = k)) then
    return 'not rotated';
  end if;
  if why is null then
    -- Without a plan the findings are unknown.
    select case when decided = 'keep' and r.plan_id is not null then c.keep_needs_reason end into needs_reason
      from keywarden.review r left join keywarden.review_campaign c on c.number = r.campaign_number where r.number = wanted;
    if needs_reason is null or needs_reason = 'always' or exists (
        select from keywarden.review_item i where i.review_number = wanted and i.key_number = any(found_keys) and i.findings <> '[]'
          and (needs_reason = 'finding' or jsonb_path_exists(i.findings, '$[*] ? (@.action == "revoke" || @.action == "rotate")'))) then
      return 'no reason';
    end if;
  end if;
  insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by)
    select wanted, k, decided, coalesce(why, case needs_reason when 'finding' then 'no finding' else 'not flagged' end), holder.acts_as
    from unnest(found_keys) k;
  return 'decided';
end
$$;
