-- The complete permissions of each app's role. docs/ROLES.md describes the same in words.
revoke all on all tables in schema keywarden from keywarden_admin, keywarden_daemon, keywarden_report;
revoke all on all functions in schema keywarden from public, keywarden_admin, keywarden_daemon, keywarden_report;
grant usage on schema keywarden to keywarden_admin, keywarden_daemon, keywarden_report;
grant execute on function keywarden.sequences_behind to keywarden_admin, keywarden_daemon, keywarden_report;

-- Both apps read these.
grant select on keywarden.access_log, keywarden.announcement, keywarden.approval_end, keywarden.blind_spot, keywarden.completed_walk,
  keywarden.connection, keywarden.connection_scope, keywarden.control_plane, keywarden.control_plane_now, keywarden.counted_approval, keywarden.credential,
  keywarden.enforcement_state, keywarden.exemption, keywarden.exemption_key, keywarden.finding, keywarden.finding_now, keywarden.high_water_mark, keywarden.incident, keywarden.job_run,
  keywarden.key, keywarden.key_count, keywarden.key_lineage, keywarden.key_listing, keywarden.key_observation, keywarden.key_owner, keywarden.key_owner_now,
  keywarden.key_use, keywarden.ledger_beginning, keywarden.ledger_checkpoint, keywarden.ledger_cosignature, keywarden.ledger_event, keywarden.ledger_key, keywarden.ledger_salt, keywarden.ledger_tile, keywarden.listed_scope, keywarden.member, keywarden.member_listing, keywarden.migration, keywarden.minted_key, keywarden.newest_plan, keywarden.notice, keywarden.notice_message,
  keywarden.open_walk, keywarden.operation, keywarden.operation_coverage, keywarden.operation_drop, keywarden.operation_pruned,
  keywarden.operation_retention, keywarden.operation_seal, keywarden.operation_sealing, keywarden.operation_version, keywarden.organization, keywarden.own_key, keywarden.pause, keywarden.plan,
  keywarden.plan_approval, keywarden.plan_rejection, keywarden.plan_standing, keywarden.policy_in_force, keywarden.policy_version, keywarden.project,
  keywarden.repeatable, keywarden.replica_credential, keywarden.report_export, keywarden.request_budget, keywarden.review, keywarden.review_campaign,
  keywarden.review_decision, keywarden.review_item, keywarden.review_item_now, keywarden.review_reminder, keywarden.review_signature, keywarden.review_verdict, keywarden.revocation_intent, keywarden.revocation_outcome,
  keywarden.rotation, keywarden.rotation_event, keywarden.rotation_mint, keywarden.rotation_request, keywarden.rotation_request_answer,
  keywarden.rotation_slot, keywarden.schedule_slot, keywarden.standing_approval, keywarden.standing_rejection, keywarden.sync_run, keywarden.work_fence
  to keywarden_daemon, keywarden_report;
grant select on keywarden.rejected_row, keywarden.replica_policy to keywarden_daemon;
-- Only the owner and keywarden_admin read the hashes of tokens, and only the owner those of sessions: the functions below accept a hash as proof of
-- who acts.
grant select (number, name, role, organization_ids, created_at, expires_at, revoked_at, created_by, revoked_by) on keywarden.report_token
  to keywarden_daemon, keywarden_report;
grant select (number, token_number, created_at, last_seen_at, expires_at, address, agent, ended_at, ended_by) on keywarden.report_session
  to keywarden_admin, keywarden_report;
-- The sequencer places events in the tree. It can neither make nor change one.
grant insert, update on keywarden.ledger_tile to keywarden_daemon;
grant insert on keywarden.ledger_checkpoint, keywarden.ledger_cosignature, keywarden.operation_seal to keywarden_daemon;
grant update (lines) on keywarden.ledger_cosignature to keywarden_daemon;
grant insert, update on keywarden.operation_sealing to keywarden_daemon;
grant execute on function keywarden.place_events to keywarden_daemon;
grant insert on keywarden.ledger_key, keywarden.ledger_beginning to keywarden_daemon;
grant update (ended_at, endorsement) on keywarden.ledger_key to keywarden_daemon;
grant execute on function keywarden.ledger_row_faults, keywarden.personal_data_of to keywarden_daemon, keywarden_report;
grant execute on function keywarden.campaign_default, keywarden.clock_was_ahead, keywarden.review_content_hash, keywarden.report_broken_reviews, keywarden.token_was_revoked to keywarden_daemon, keywarden_report;

-- The command line creates and revokes tokens, and ends sessions, in this role.
grant select, insert on keywarden.report_token to keywarden_admin;
grant update (role, revoked_at, revoked_by) on keywarden.report_token to keywarden_admin;
grant update (ended_at, ended_by) on keywarden.report_session to keywarden_admin;
grant select on keywarden.access_log, keywarden.migration, keywarden.organization, keywarden.repeatable to keywarden_admin;
grant execute on function keywarden.clock_was_ahead to keywarden_admin;
-- The person who revokes a token learns what it did that stays in effect.
grant select (number, granted_by, until, ended_at) on keywarden.exemption to keywarden_admin;
grant select (number, id, requested_by, ended_at) on keywarden.rotation to keywarden_admin;
grant select (review_number, signed_by) on keywarden.review_signature to keywarden_admin;

-- The daemon writes these.
grant delete, insert on keywarden.rejected_row
  to keywarden_daemon;
grant delete, insert, update on keywarden.replica_policy
  to keywarden_daemon;
grant insert on keywarden.announcement, keywarden.approval_end, keywarden.finding,
  keywarden.high_water_mark, keywarden.incident, keywarden.job_run, keywarden.key_listing, keywarden.key_observation, keywarden.key_owner,
  keywarden.member_listing, keywarden.notice, keywarden.notice_message, keywarden.operation_pruned, keywarden.pause, keywarden.plan,
  keywarden.plan_approval, keywarden.policy_in_force, keywarden.policy_version, keywarden.project, keywarden.revocation_intent, keywarden.revocation_outcome,
  keywarden.review_reminder, keywarden.rotation, keywarden.rotation_event, keywarden.rotation_mint, keywarden.rotation_request_answer,
  keywarden.rotation_slot, keywarden.schedule_slot
  to keywarden_daemon;
grant insert, update on keywarden.connection, keywarden.connection_scope, keywarden.control_plane, keywarden.member, keywarden.organization, keywarden.own_key, keywarden.replica_credential,
  keywarden.request_budget, keywarden.sync_run, keywarden.work_fence
  to keywarden_daemon;
grant insert on keywarden.credential, keywarden.key_count, keywarden.key_use to keywarden_daemon;
grant update (kind, project_id, name, creator_id, creator_name, created_at, last_used_at, last_used_from, use_went_back, extra, branch_id, holder,
  expires_at, present_since, missing_since, gone_at, superseded_at) on keywarden.credential to keywarden_daemon;
grant update (last_used_at) on keywarden.key_use to keywarden_daemon;
grant update (ended_at) on keywarden.announcement to keywarden_daemon;
grant update (detail, closed_at, closed_by, note) on keywarden.incident to keywarden_daemon;
grant update (finished_at, outcome, error) on keywarden.job_run to keywarden_daemon;
grant update (attempts, last_error, accepted_at, cancelled_at) on keywarden.notice_message to keywarden_daemon;
grant update (resumed_at, resumed_by) on keywarden.pause to keywarden_daemon;
grant insert, update on keywarden.enforcement_state to keywarden_daemon;
grant update (last_made_at, sha256, document, held_count, reported_count, derived_from, findings_at) on keywarden.plan to keywarden_daemon;
grant update (organization_id, name, region_id, pg_version, owner_id, updated_at, extra, last_seen_at, missing_since, gone_at,
  listed_active_at, hole_tried_at, deleted_at, walk_refused_at) on keywarden.project to keywarden_daemon;
grant update (why, record, last_seen_at, times) on keywarden.rejected_row to keywarden_daemon;
grant update (ended_at, given_up_by) on keywarden.rotation to keywarden_daemon;
grant update (key_id, outcome, delivered_at, place) on keywarden.rotation_mint to keywarden_daemon;
grant update (done_at) on keywarden.rotation_slot to keywarden_daemon;
grant update (jobs) on keywarden.schedule_slot to keywarden_daemon;
grant execute on function keywarden.announce_operation_drops, keywarden.apply_review_defaults, keywarden.bring_creation_forward, keywarden.derive_plan_of, keywarden.drop_operation_month, keywarden.forget_accesses,
  keywarden.end_exemption_by, keywarden.forget_old_jobs, keywarden.forget_open_walk, keywarden.hold_fence, keywarden.insert_exemption,
  keywarden.make_operation_partitions,
  keywarden.save_operation_page, keywarden.save_request_budgets
  to keywarden_daemon;

-- The report writes through functions alone. They find out who acts from the hash of a token or session, and take the time from the database.
grant select (control_plane_number, list, place) on keywarden.rejected_row to keywarden_report;
grant execute on function keywarden.add_report_mark, keywarden.approve_plan, keywarden.authenticate, keywarden.cancel_campaign, keywarden.decide_review, keywarden.derive_plan,
  keywarden.end_exemption, keywarden.end_session, keywarden.grant_exemption, keywarden.open_campaign, keywarden.open_review, keywarden.open_session,
  keywarden.record_accesses, keywarden.reject_plan, keywarden.report_older_store, keywarden.request_rotation, keywarden.sign_review
  to keywarden_report;
-- The daemon creates views for a moment, to compare those of the store with them. Postgres only warns of a grant that a user may not give.
do $$
begin
  execute format('grant temporary on database %I to keywarden_daemon', current_database());
  if not has_database_privilege('keywarden_daemon', current_database(), 'temporary') then
    raise exception 'keywarden_daemon lacks TEMPORARY on this database, and % may not grant it', current_user using errcode = 'insufficient_privilege',
      hint = 'as the owner of the database: GRANT TEMPORARY ON DATABASE ... TO keywarden_daemon';
  end if;
end
$$;
