-- Keeps a signed review unchanged, even if the program tries to change it. The lock makes an item or a decision wait for a signature in progress, and
-- a signature for them. A transaction that began before a signature, and does not see it, is refused.
create or replace function keywarden.refuse_signed_review() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform keywarden.require_read_committed();
  perform from keywarden.review r where r.number = new.review_number for update;
  if exists (select from keywarden.review_signature s where s.review_number = new.review_number) then
    raise exception 'the review is signed' using errcode = 'KW001';
  end if;
  return new;
end
$$;
