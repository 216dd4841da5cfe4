create or replace trigger use_is_kept before update of last_used_at on keywarden.key_use
  for each row when (new.last_used_at < old.last_used_at) execute function keywarden.refuse_lost_use();
create or replace trigger use_is_kept before update of last_used_at on keywarden.credential
  for each row when (old.last_used_at is not null and (new.last_used_at is null or new.last_used_at < old.last_used_at))
  execute function keywarden.refuse_lost_use();
