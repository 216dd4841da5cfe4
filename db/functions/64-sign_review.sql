-- Signs a fully decided review by an operator, and makes its decisions effective: a key that is kept despite a finding is exempt from that rule for a
-- time, and a key to rotate gets a request, both in the signer's name; an exemption of an earlier review ends for a key to revoke. `document` is the canonical
-- JSON that the report shows; it must have the decisions of the rows. Returns null if the review is signed, {"undecided": N}, {"changed": true} if
-- the document is of an earlier state, or {"sha256", "exemptions", "rotations"}.
create or replace function keywarden.sign_review(credential text, wanted bigint, document text) returns jsonb
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  holder record;
  items jsonb := document::jsonb -> 'items';
  open_items int;
  is_same boolean;
  hash text := encode(sha256(convert_to(document, 'UTF8')), 'hex');
  kept record;
  exempted int := 0;
  requested int;
begin
  -- Signatures follow one another, also those of open transactions: each must end the exemptions of those before it.
  perform pg_advisory_xact_lock(hashtextextended('signatures of reviews', 2));
  perform from keywarden.review where number = wanted for update;
  -- The token may have been revoked while this waited.
  select * into holder from keywarden.require_holder(credential, 'operator', true);
  if exists (select from keywarden.review_signature s where s.review_number = wanted) then
    return null;
  end if;
  select count(*) into open_items from keywarden.review_item_now i where i.review_number = wanted and i.decision is null;
  if open_items > 0 then
    return jsonb_build_object('undecided', open_items);
  end if;
  select coalesce(bool_and(coalesce(e.item -> 'key' = v.key and e.item -> 'findings' = v.findings and e.item ->> 'decision' = v.decision
      and e.item ->> 'reason' = v.reason and e.item ->> 'decided_by' = v.decided_by, false))
    and document::jsonb -> 'review' ->> 'id' = wanted::text, false) into is_same
    from (select *, row_number() over (order by key_number) as place from keywarden.review_item_now where review_number = wanted) v full join jsonb_array_elements(items) with ordinality as e(item, place) on e.place = v.place;
  if not is_same then
    return jsonb_build_object('changed', true);
  end if;
  -- The newest signature decides, also if the database's clock was ahead at an earlier one.
  insert into keywarden.review_signature (review_number, signed_by, signed_at, sha256, content_sha256)
    values (wanted, holder.acts_as, greatest(clock_timestamp(), (select max(s.signed_at) + interval '1 microsecond' from keywarden.review_signature s)),
      hash, keywarden.review_content_hash(wanted));
  update keywarden.exemption e set ended_at = greatest(e.granted_at, v.at + (clock_timestamp() - now())), ended_by = holder.acts_as
    from (select x.exemption_number, max(p.at) as at from keywarden.review_item_now d
        join keywarden.exemption_key x on x.key_number = d.key_number join keywarden.credential k on k.number = d.key_number
        join keywarden.control_plane_now p on p.control_plane_number = k.control_plane_number
      where d.review_number = wanted and d.decision = 'revoke' group by x.exemption_number) v
    where e.number = v.exemption_number and e.ended_at is null
      -- A person may grant an exemption with a reason of the same first words.
      and exists (select from keywarden.review_signature g
        where g.signed_by = e.granted_by and starts_with(e.reason, format('access review %s: ', g.review_number)));
  for kept in
    select d.key_number, d.reason, d.decided_by, p.at + (clock_timestamp() - now()) as at, r.keep_for,
      array(select distinct f ->> 'rule' from jsonb_array_elements(d.findings) f where f ->> 'rule' <> 'access-review' order by 1) as rules
    from keywarden.review_item_now d join keywarden.review r on r.number = wanted join keywarden.credential k on k.number = d.key_number
      join keywarden.control_plane_now p on p.control_plane_number = k.control_plane_number
    where d.review_number = wanted and d.decision = 'keep' and k.gone_at is null and r.keep_for > interval '0'
      -- What a campaign kept by default was judged by no person.
      and d.decided_by is distinct from keywarden.campaign_default(r.campaign_number) order by d.key_number
  loop
    -- The rule of reviews is excluded, because its exemption would outlast the next review.
    continue when cardinality(kept.rules) = 0;
    perform keywarden.insert_exemption(holder.acts_as, array[kept.key_number], kept.rules, null,
      format('access review %s: %s, decided by %s', wanted, kept.reason, kept.decided_by), kept.at, kept.at + kept.keep_for);
    exempted := exempted + 1;
  end loop;
  insert into keywarden.rotation_request (key_number, requested_by, reason)
    select d.key_number, holder.acts_as, format('access review %s: %s, decided by %s', wanted, d.reason, d.decided_by)
    from keywarden.review_item_now d join keywarden.key k on k.number = d.key_number
    where d.review_number = wanted and d.decision = 'rotate' and k.gone_at is null order by d.key_number;
  get diagnostics requested = row_count;
  return jsonb_build_object('sha256', hash, 'exemptions', exempted, 'rotations', requested);
end
$$;
