create view keywarden.key with (security_invoker = true) as
  select number, control_plane_number, scope, id, kind, organization_id, project_id, name, creator_id, creator_name, created_at, last_used_at,
    last_used_from, use_went_back, extra, first_seen_at, missing_since, gone_at, present_since, superseded_at
  from keywarden.credential where kind in ('personal', 'organization', 'project');
