create or replace trigger signed_review_stays before insert on keywarden.review_decision
  for each row execute function keywarden.refuse_signed_review();
