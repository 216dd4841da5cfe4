-- Who decided about a key that was undecided at the due date of a campaign, as it stands in the decision. A name of a person ends with a token.
create or replace function keywarden.campaign_default(campaign bigint) returns text
  language sql immutable set search_path = pg_catalog, pg_temp as $$
  select 'the default of review campaign ' || campaign
$$;
