create or replace trigger ends_are_kept before update of revoked_at on keywarden.report_token
  for each row when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at) execute function keywarden.refuse_revival();
create or replace trigger ends_are_kept before update of ended_at on keywarden.report_session
  for each row when (old.ended_at is not null and new.ended_at is distinct from old.ended_at) execute function keywarden.refuse_revival();
