-- Whether the token was revoked by which someone acted in the report. Decisions that are not carried out yet end with their token.
create or replace function keywarden.token_was_revoked(acted_as text) returns boolean
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from keywarden.report_token t where t.revoked_at is not null and acted_as like '% (report token ' || t.number || ')')
$$;
