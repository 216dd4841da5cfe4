-- Keeps a signed review unchanged, even if the program tries to change it.
create or replace function keywarden.refuse_signed_review() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from keywarden.review_signature s where s.review_number = new.review_number) then
    raise exception 'the review is signed' using errcode = 'KW001';
  end if;
  return new;
end
$$;
