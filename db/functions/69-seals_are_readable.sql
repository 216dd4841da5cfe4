create or replace trigger seals_are_readable before insert on keywarden.operation_seal
  for each row execute function keywarden.refuse_malformed_seal();
