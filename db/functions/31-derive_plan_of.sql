-- Makes the part of a plan that revokes only these keys, and returns its id. The same keys of the same plan are the same part. Returns null for a plan
-- that does not exist or has none of the keys. Its hashes are those of packages/core/src/policy/plan.ts.
create or replace function keywarden.derive_plan_of(parent text, keys bigint[]) returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  whole keywarden.plan;
  chosen record;
  part text;
  hash text;
  approved text;
  made text;
begin
  select p.* into whole from keywarden.plan p where p.id = parent and p.approves is not null;
  -- Elements of json keep their text, which is canonical.
  select string_agg(i.item::text, ',' order by i.place) as items, string_agg(e'\n' || (i.item ->> 'sha256'), '' order by i.place) as hashes,
      count(*) as count into chosen
    from json_array_elements(whole.document::json -> 'items') with ordinality i(item, place)
    where (i.item -> 'key' ->> 'number')::bigint = any(keys);
  if chosen.count = 0 then
    return null;
  end if;
  part := '{"blind_spots":[],"breakers":[],"held":[],"items":[' || chosen.items || '],"policy_sha256":"' || whole.policy_sha256
    || '","reported":[],"version":3}';
  hash := encode(sha256(convert_to(part, 'UTF8')), 'hex');
  approved := encode(sha256(convert_to('3' || e'\n' || whole.policy_sha256 || e'\n' || chosen.hashes, 'UTF8')), 'hex');
  made := 'p-' || left(approved, 12);
  -- The part with all keys is the plan itself.
  if made = whole.id then
    return made;
  end if;
  insert into keywarden.plan (id, sha256, approves, document, item_count, held_count, reported_count, policy_sha256, derived_from, created_at, last_made_at)
    values (made, hash, approved, part, chosen.count, 0, 0, whole.policy_sha256, coalesce(whole.derived_from, whole.id), clock_timestamp(),
      whole.last_made_at)
    on conflict (id) do nothing;
  if not found then
    -- It may have become the newest plan while this waited. The newest plan stays the newest.
    perform from keywarden.plan where id = made for no key update;
    if made = (select n.id from keywarden.newest_plan n) then
      return made;
    end if;
    -- A former plan with the same keys becomes this part. If the newest facts give it again, savePlan makes it a plan of its own again.
    update keywarden.plan former set last_made_at = whole.last_made_at, derived_from = coalesce(whole.derived_from, whole.id), sha256 = hash,
        document = part, held_count = 0, reported_count = 0, findings_at = case when former.sha256 = hash then former.findings_at else now() end
      where id = made;
  end if;
  if not exists (select from keywarden.finding_now f where f.plan_id = made) then
    insert into keywarden.finding (plan_id, key_number, rule, action, disposition, why_held, hold_kind, rule_limit, evidence, reason)
      select made, f.key_number, f.rule, f.action, f.disposition, f.why_held, f.hold_kind, f.rule_limit, f.evidence, f.reason
      from keywarden.finding_now f where f.plan_id = whole.id and f.key_number = any(keys) and f.action = 'revoke' order by f.number;
  end if;
  return made;
end
$$;
