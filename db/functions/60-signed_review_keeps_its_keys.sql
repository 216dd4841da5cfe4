create or replace trigger signed_review_keeps_its_keys before insert on keywarden.review_item
  for each row execute function keywarden.refuse_signed_review();
