-- Records accesses: all of them, or none. The time is that of the record, and the token that of the credential, also if it has just ended. A refusal
-- (status 4xx or 503) is counted on the row of the same minute, network, event, status and token, so that refused requests cannot fill the table.
-- Rows that two reports may write at once are in one order: they never wait for each other in a circle.
-- A complete export is an event of the ledger, with the SHA-256 of its file and the path of its route. Its query may name persons, and is only here.
create or replace function keywarden.record_accesses(accesses json) returns void
  language sql security definer set search_path = pg_catalog, pg_temp as $$
  with given as (
    select coalesce(
        (select t.number from keywarden.report_token t where t.token_hash = a.credential),
        (select s.token_number from keywarden.report_session s where s.session_hash = a.credential)) as token_number,
      a.request_id, left(a.address, 64) as address, left(a.network, 64) as network, left(a.method, 16) as method, left(a.path, 512) as path,
      left(a.query, 1024) as query, a.status, a.stream, a.records, left(a.sha256, 64) as sha256, left(a.file_sha256, 64) as file_sha256, a.event,
      a.stream is null and (a.status between 400 and 499 or a.status = 503) as is_refusal, row_number() over () as place
    from json_to_recordset(accesses) as a (credential text, request_id uuid, address text, network text, method text, path text, query text,
      status int, stream text, records bigint, sha256 text, file_sha256 text, event text)
  ), recorded as (
    insert into keywarden.access_log (request_id, token_number, address, method, path, query, status, stream, records, sha256, event)
    select request_id, token_number, address, method, path, query, status, stream, records, sha256, event from given where not is_refusal
  ), exported as (
    insert into keywarden.report_export (sha256, path, records, exported_by)
    select g.file_sha256, g.path, g.records, t.name from given g join keywarden.report_token t on t.number = g.token_number
    where g.stream = 'complete' and g.file_sha256 ~ '^[0-9a-f]{64}$' and g.path ~ '^/v1/[a-z/-]{1,100}$' order by g.file_sha256
    on conflict (sha256) do nothing
  )
  insert into keywarden.access_log (request_id, token_number, address, method, path, query, status, event, minute, times)
  select (array_agg(request_id order by place))[1], token_number, network, (array_agg(method order by place))[1], (array_agg(path order by place))[1],
    (array_agg(query order by place))[1], status, event, date_trunc('minute', clock_timestamp()), count(*)
  from given where is_refusal group by token_number, network, status, event order by token_number, network, status, event
  on conflict (minute, address, event, status, coalesce(token_number, 0)) where minute is not null
    do update set times = keywarden.access_log.times + excluded.times
$$;
