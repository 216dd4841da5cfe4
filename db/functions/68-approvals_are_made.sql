create or replace trigger approvals_are_made before insert on keywarden.plan_approval
  for each row execute function keywarden.refuse_invented_approval();
