-- The decider that is recorded for keys that were undecided at the due date of a campaign. The name of a person never equals it: it ends with a token.
create or replace function keywarden.campaign_default(campaign bigint) returns text
  language sql immutable set search_path = pg_catalog, pg_temp as $$
  select 'the default of review campaign ' || campaign
$$;
