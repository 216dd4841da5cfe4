CREATE TABLE "keywarden"."access_log" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."access_log_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"request_id" uuid NOT NULL,
	"token_number" bigint NOT NULL,
	"address" text NOT NULL,
	"method" text NOT NULL,
	"path" text NOT NULL,
	"query" text DEFAULT '' NOT NULL,
	"status" integer NOT NULL,
	"stream" text,
	"records" bigint,
	"sha256" text,
	CONSTRAINT "access_log_stream_check" CHECK (stream in ('begun', 'complete', 'cut'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."announcement" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."announcement_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"key_number" bigint NOT NULL,
	"rule" text NOT NULL,
	"basis" text NOT NULL,
	"opened_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "keywarden"."approval_end" (
	"approval_number" bigint PRIMARY KEY NOT NULL,
	"how" text NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "approval_end_how_check" CHECK (how in ('done', 'stopped'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."completed_walk" (
	"project_number" bigint NOT NULL,
	"day" date NOT NULL,
	"to_end" boolean NOT NULL,
	"began_at" timestamp with time zone NOT NULL,
	"reached" timestamp with time zone NOT NULL,
	CONSTRAINT "completed_walk_pkey" PRIMARY KEY("project_number","day","to_end")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."connection" (
	"name" text PRIMARY KEY NOT NULL,
	"control_plane_number" bigint NOT NULL,
	"account_id" text NOT NULL,
	"auth_method" text NOT NULL,
	"own_key_id" text,
	"is_sandbox" boolean NOT NULL,
	"checked_at" timestamp with time zone NOT NULL,
	"removed_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "keywarden"."connection_scope" (
	"connection" text NOT NULL,
	"control_plane_number" bigint NOT NULL,
	"scope" text NOT NULL,
	"seen_at" timestamp with time zone NOT NULL,
	CONSTRAINT "connection_scope_pkey" PRIMARY KEY("connection","control_plane_number","scope")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."control_plane" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."control_plane_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"base_url" text NOT NULL,
	"first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "control_plane_base_url_key" UNIQUE("base_url")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."credential" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."credential_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"control_plane_number" bigint NOT NULL,
	"scope" text NOT NULL,
	"id" text NOT NULL,
	"kind" text NOT NULL,
	"organization_id" text,
	"project_id" text,
	"name" text NOT NULL,
	"creator_id" text NOT NULL,
	"creator_name" text,
	"created_at" timestamp with time zone NOT NULL,
	"last_used_at" timestamp with time zone,
	"last_used_from" text,
	"use_went_back" boolean DEFAULT false NOT NULL,
	"extra" jsonb,
	"first_seen_at" timestamp with time zone NOT NULL,
	"missing_since" timestamp with time zone,
	"gone_at" timestamp with time zone,
	"present_since" timestamp with time zone NOT NULL,
	"superseded_at" timestamp with time zone,
	"branch_id" text,
	"holder" text,
	"expires_at" timestamp with time zone,
	CONSTRAINT "credential_kind_check" CHECK (kind in ('personal', 'organization', 'project', 'branch_credential', 'role', 'project_permission', 'project_member', 'jwks'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."exemption" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."exemption_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"rules" text[],
	"pattern" text,
	"reason" text NOT NULL,
	"granted_by" text NOT NULL,
	"granted_at" timestamp with time zone NOT NULL,
	"until" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	"ended_by" text,
	CONSTRAINT "exemption_check" CHECK (until > granted_at),
	CONSTRAINT "exemption_reason_check" CHECK (reason <> '')
);
--> statement-breakpoint
CREATE TABLE "keywarden"."exemption_key" (
	"exemption_number" bigint NOT NULL,
	"key_number" bigint NOT NULL,
	CONSTRAINT "exemption_key_pkey" PRIMARY KEY("exemption_number","key_number")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."finding" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."finding_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"plan_id" text NOT NULL,
	"key_number" bigint NOT NULL,
	"rule" text NOT NULL,
	"action" text NOT NULL,
	"disposition" text NOT NULL,
	"why_held" text,
	"rule_limit" text NOT NULL,
	"evidence" jsonb NOT NULL,
	"reason" text NOT NULL,
	"hold_kind" text,
	CONSTRAINT "finding_action_check" CHECK (action in ('report', 'notify', 'rotate', 'revoke')),
	CONSTRAINT "finding_disposition_check" CHECK (disposition in ('planned', 'held', 'reported'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."high_water_mark" (
	"number" bigint GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."high_water_mark_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"mark" uuid PRIMARY KEY NOT NULL,
	"made_at" timestamp with time zone DEFAULT now() NOT NULL,
	"made_by" text DEFAULT 'daemon' NOT NULL,
	CONSTRAINT "high_water_mark_number_key" UNIQUE("number"),
	CONSTRAINT "high_water_mark_made_by_check" CHECK (made_by in ('daemon', 'report'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."incident" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."incident_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"opened_at" timestamp with time zone DEFAULT now() NOT NULL,
	"key_number" bigint,
	"intent_number" bigint,
	"detail" jsonb NOT NULL,
	"closed_at" timestamp with time zone,
	"closed_by" text,
	"note" text,
	"scope" text DEFAULT '' NOT NULL,
	CONSTRAINT "incident_kind_check" CHECK (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed', 'key_changed', 'configuration', 'listing_doubted'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."job_run" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."job_run_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"job_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"account" text NOT NULL,
	"slot_at" timestamp with time zone,
	"attempt" integer NOT NULL,
	"replica" uuid NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp with time zone,
	"outcome" text,
	"error" jsonb,
	CONSTRAINT "job_run_outcome_check" CHECK (outcome in ('done', 'failed', 'handed_back')),
	CONSTRAINT "job_run_check" CHECK ((finished_at is null) = (outcome is null))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."key_listing" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."key_listing_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"control_plane_number" bigint NOT NULL,
	"scope" text NOT NULL,
	"connection" text NOT NULL,
	"run_number" bigint,
	"listed_at" timestamp with time zone NOT NULL,
	"begun_at" timestamp with time zone NOT NULL,
	"received_at" timestamp with time zone DEFAULT now() NOT NULL,
	"key_count" integer NOT NULL,
	"doubt" text
);
--> statement-breakpoint
CREATE TABLE "keywarden"."key_observation" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."key_observation_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"key_number" bigint NOT NULL,
	"run_number" bigint,
	"seen_at" timestamp with time zone NOT NULL,
	"event" text NOT NULL,
	"record" jsonb,
	CONSTRAINT "key_observation_event_check" CHECK (event in ('first_seen', 'changed', 'missing', 'gone', 'back', 'revoked'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."key_owner" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."key_owner_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"key_number" bigint NOT NULL,
	"owner" text,
	"source" text NOT NULL,
	"assigned_at" timestamp with time zone DEFAULT now() NOT NULL,
	"assigned_by" text NOT NULL,
	CONSTRAINT "key_owner_source_check" CHECK (source in ('import', 'assignment'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."key_use" (
	"key_number" bigint NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"address" text NOT NULL,
	"last_used_at" timestamp with time zone NOT NULL,
	"first_used_at" timestamp with time zone NOT NULL,
	CONSTRAINT "key_use_pkey" PRIMARY KEY("key_number","hour","address")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."member" (
	"control_plane_number" bigint NOT NULL,
	"organization_id" text NOT NULL,
	"user_id" text NOT NULL,
	"member_id" text NOT NULL,
	"email" text NOT NULL,
	"role" text NOT NULL,
	"joined_at" timestamp with time zone,
	"first_seen_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	"missing_since" timestamp with time zone,
	"left_at" timestamp with time zone,
	CONSTRAINT "member_pkey" PRIMARY KEY("control_plane_number","organization_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."member_listing" (
	"control_plane_number" bigint NOT NULL,
	"organization_id" text NOT NULL,
	"listed_at" timestamp with time zone NOT NULL,
	"is_sudden" boolean NOT NULL,
	CONSTRAINT "member_listing_pkey" PRIMARY KEY("control_plane_number","organization_id","listed_at")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."notice" (
	"announcement_number" bigint NOT NULL,
	"step" text NOT NULL,
	"channel" text NOT NULL,
	"message_number" bigint NOT NULL,
	CONSTRAINT "notice_pkey" PRIMARY KEY("announcement_number","step","channel","message_number")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."notice_message" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."notice_message_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"control_plane_number" bigint NOT NULL,
	"channel" text NOT NULL,
	"owner" text NOT NULL,
	"body" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"accepted_at" timestamp with time zone,
	"cancelled_at" timestamp with time zone,
	"incident_number" bigint
);
--> statement-breakpoint
CREATE TABLE "keywarden"."open_walk" (
	"project_number" bigint PRIMARY KEY NOT NULL,
	"began_at" timestamp with time zone NOT NULL,
	"floor" timestamp with time zone,
	"cursor" text NOT NULL,
	"below" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "keywarden"."operation" (
	"project_number" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"id" uuid NOT NULL,
	"branch_id" text,
	"endpoint_id" text,
	"action" text NOT NULL,
	"status" text NOT NULL,
	"failures_count" bigint NOT NULL,
	"error" text,
	"retry_at" timestamp with time zone,
	"updated_at" timestamp with time zone NOT NULL,
	"total_duration_ms" bigint,
	"extra" jsonb,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"place" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "operation_pkey" PRIMARY KEY("project_number","created_at","id")
) PARTITION BY RANGE ("created_at");
--> statement-breakpoint
CREATE TABLE "keywarden"."operation_coverage" (
	"project_number" bigint PRIMARY KEY NOT NULL,
	"known" "tstzmultirange" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "keywarden"."operation_drop" (
	"month" date PRIMARY KEY NOT NULL,
	"announced_at" timestamp with time zone DEFAULT now() NOT NULL,
	"operations" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	"dropped_at" timestamp with time zone,
	"dropped_by" text
);
--> statement-breakpoint
CREATE TABLE "keywarden"."operation_pruned" (
	"project_number" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"id" uuid NOT NULL,
	"found_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "operation_pruned_pkey" PRIMARY KEY("project_number","created_at","id")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."operation_retention" (
	"number" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"keep" interval NOT NULL,
	"set_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "operation_retention_keep_check" CHECK (keep >= '214 days'::interval),
	CONSTRAINT "operation_retention_number_check" CHECK (number = 1)
);
--> statement-breakpoint
CREATE TABLE "keywarden"."operation_version" (
	"project_number" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"id" uuid NOT NULL,
	"branch_id" text,
	"endpoint_id" text,
	"action" text NOT NULL,
	"status" text NOT NULL,
	"failures_count" bigint NOT NULL,
	"error" text,
	"retry_at" timestamp with time zone,
	"updated_at" timestamp with time zone NOT NULL,
	"total_duration_ms" bigint,
	"extra" jsonb,
	"seen_at" timestamp with time zone NOT NULL,
	"replaced_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "operation_version_pkey" PRIMARY KEY("project_number","created_at","id","replaced_at")
) PARTITION BY RANGE ("created_at");
--> statement-breakpoint
CREATE TABLE "keywarden"."organization" (
	"control_plane_number" bigint NOT NULL,
	"id" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"extra" jsonb,
	"first_seen_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	CONSTRAINT "organization_pkey" PRIMARY KEY("control_plane_number","id")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."own_key" (
	"connection" text NOT NULL,
	"key_id" text NOT NULL,
	"checked_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "own_key_pkey" PRIMARY KEY("connection","key_id")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."pause" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."pause_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"paused_at" timestamp with time zone DEFAULT now() NOT NULL,
	"paused_by" text NOT NULL,
	"reason" text,
	"resumed_at" timestamp with time zone,
	"resumed_by" text
);
--> statement-breakpoint
CREATE TABLE "keywarden"."plan" (
	"id" text PRIMARY KEY NOT NULL,
	"sequence" bigint GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."plan_sequence_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"sha256" text NOT NULL,
	"document" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_made_at" timestamp with time zone DEFAULT now() NOT NULL,
	"item_count" integer NOT NULL,
	"held_count" integer NOT NULL,
	"reported_count" integer NOT NULL,
	"policy_sha256" text,
	CONSTRAINT "plan_sequence_key" UNIQUE("sequence")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."plan_approval" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."plan_approval_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"plan_id" text NOT NULL,
	"approved_by" text NOT NULL,
	"via" text NOT NULL,
	"approved_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "plan_approval_via_check" CHECK (via in ('command line', 'report', 'enforcement'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."plan_rejection" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."plan_rejection_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"plan_id" text NOT NULL,
	"rejected_by" text NOT NULL,
	"reason" text NOT NULL,
	"rejected_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "plan_rejection_reason_check" CHECK (reason <> ''),
	CONSTRAINT "plan_rejection_rejected_by_check" CHECK (rejected_by <> '')
);
--> statement-breakpoint
CREATE TABLE "keywarden"."policy_version" (
	"sha256" text PRIMARY KEY NOT NULL,
	"document" jsonb NOT NULL,
	"first_used_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "keywarden"."project" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."project_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"control_plane_number" bigint NOT NULL,
	"id" text NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"region_id" text,
	"pg_version" integer,
	"owner_id" text,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"extra" jsonb,
	"first_seen_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	"missing_since" timestamp with time zone,
	"gone_at" timestamp with time zone,
	"walked_at" timestamp with time zone,
	"listed_active_at" timestamp with time zone,
	"hole_tried_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"walk_refused_at" timestamp with time zone,
	CONSTRAINT "project_control_plane_number_id_key" UNIQUE("control_plane_number","id")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."rejected_row" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."rejected_row_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"control_plane_number" bigint NOT NULL,
	"list" text NOT NULL,
	"place" text NOT NULL,
	"row_id" text,
	"why" text NOT NULL,
	"record" jsonb NOT NULL,
	"row_key" text NOT NULL,
	"first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"times" bigint DEFAULT 1 NOT NULL,
	CONSTRAINT "rejected_row_control_plane_number_list_place_row_key_key" UNIQUE("control_plane_number","list","place","row_key"),
	CONSTRAINT "rejected_row_list_check" CHECK (list in ('organizations', 'members', 'keys', 'projects', 'operations', 'credentials'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."repeatable" (
	"name" text PRIMARY KEY NOT NULL,
	"sha256" text NOT NULL,
	"applied_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "keywarden"."replica_credential" (
	"replica" uuid NOT NULL,
	"connection" text NOT NULL,
	"key_id" text NOT NULL,
	"authenticated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone,
	CONSTRAINT "replica_credential_pkey" PRIMARY KEY("replica","connection")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."replica_policy" (
	"replica" uuid PRIMARY KEY NOT NULL,
	"policy_sha256" text,
	"why" text,
	"said_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "replica_policy_check" CHECK ((policy_sha256 is null) = (why is not null))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."report_token" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."report_token_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"token_hash" text NOT NULL,
	"role" text NOT NULL,
	"organization_ids" text[],
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "report_token_token_hash_key" UNIQUE("token_hash"),
	CONSTRAINT "report_token_role_check" CHECK (role in ('viewer', 'auditor', 'operator'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."request_budget" (
	"name" text PRIMARY KEY NOT NULL,
	"version" bigint DEFAULT 0 NOT NULL,
	"state" jsonb NOT NULL
) WITH (fillfactor = 50);
--> statement-breakpoint
CREATE TABLE "keywarden"."review" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."review_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"title" text NOT NULL,
	"as_of" timestamp with time zone NOT NULL,
	"filter" jsonb NOT NULL,
	"holes" jsonb NOT NULL,
	"plan_id" text,
	"keep_for" interval NOT NULL,
	"opened_by" text NOT NULL,
	"opened_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "review_opened_by_check" CHECK (opened_by <> ''),
	CONSTRAINT "review_title_check" CHECK (title <> '')
);
--> statement-breakpoint
CREATE TABLE "keywarden"."review_decision" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."review_decision_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"review_number" bigint NOT NULL,
	"key_number" bigint NOT NULL,
	"decision" text NOT NULL,
	"reason" text NOT NULL,
	"decided_by" text NOT NULL,
	"decided_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "review_decision_decision_check" CHECK (decision in ('keep', 'revoke', 'rotate')),
	CONSTRAINT "review_decision_decided_by_check" CHECK (decided_by <> ''),
	CONSTRAINT "review_decision_reason_check" CHECK (reason <> '')
);
--> statement-breakpoint
CREATE TABLE "keywarden"."review_item" (
	"review_number" bigint NOT NULL,
	"key_number" bigint NOT NULL,
	"key" jsonb NOT NULL,
	"findings" jsonb NOT NULL,
	CONSTRAINT "review_item_pkey" PRIMARY KEY("review_number","key_number")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."review_signature" (
	"review_number" bigint PRIMARY KEY NOT NULL,
	"signed_by" text NOT NULL,
	"signed_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"sha256" text NOT NULL,
	CONSTRAINT "review_signature_signed_by_check" CHECK (signed_by <> '')
);
--> statement-breakpoint
CREATE TABLE "keywarden"."revocation_intent" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."revocation_intent_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"plan_id" text,
	"key_number" bigint NOT NULL,
	"attempt" integer NOT NULL,
	"connection" text NOT NULL,
	"approval_number" bigint,
	"last_listing_number" bigint NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"judged_at" timestamp with time zone,
	"policy_sha256" text,
	"rotation_number" bigint,
	CONSTRAINT "revocation_intent_key_number_attempt_key" UNIQUE("key_number","attempt"),
	CONSTRAINT "revocation_intent_cause" CHECK (((plan_id is null) = (approval_number is null)) and ((plan_id is null) = (rotation_number is not null)))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."revocation_outcome" (
	"intent_number" bigint PRIMARY KEY NOT NULL,
	"outcome" text NOT NULL,
	"used_in_flight" boolean DEFAULT false NOT NULL,
	"detail" jsonb,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "revocation_outcome_outcome_check" CHECK (outcome in ('revoked', 'gone', 'not_revoked', 'failed'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."rotation" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."rotation_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text NOT NULL,
	"key_number" bigint NOT NULL,
	"line_number" bigint NOT NULL,
	"rule" text,
	"sink" text NOT NULL,
	"quiet_for" interval NOT NULL,
	"adopt_within" interval NOT NULL,
	"via" text NOT NULL,
	"requested_by" text NOT NULL,
	"policy_sha256" text NOT NULL,
	"opened_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone,
	"given_up_by" text,
	CONSTRAINT "rotation_id_key" UNIQUE("id"),
	CONSTRAINT "rotation_via_check" CHECK (via in ('policy', 'command line', 'report')),
	CONSTRAINT "rotation_id_check" CHECK (id ~ '^[a-z0-9]{8}$')
);
--> statement-breakpoint
CREATE TABLE "keywarden"."rotation_event" (
	"rotation_number" bigint NOT NULL,
	"sequence" integer NOT NULL,
	"state" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"why" text,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "rotation_event_pkey" PRIMARY KEY("rotation_number","sequence"),
	CONSTRAINT "rotation_event_state_check" CHECK (state in ('planned', 'minting', 'minted', 'delivered', 'overlapping', 'adopted', 'retiring', 'retired', 'failed', 'orphaned', 'stalled'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."rotation_mint" (
	"rotation_number" bigint NOT NULL,
	"attempt" integer NOT NULL,
	"name" text NOT NULL,
	"connection" text NOT NULL,
	"creator_id" text NOT NULL,
	"last_listing_number" bigint NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"key_id" text,
	"fate" text,
	"delivered_at" timestamp with time zone,
	"place" text,
	CONSTRAINT "rotation_mint_pkey" PRIMARY KEY("rotation_number","attempt"),
	CONSTRAINT "rotation_mint_name_key" UNIQUE("name"),
	CONSTRAINT "rotation_mint_fate_check" CHECK (fate in ('delivered', 'unclear', 'lost'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."rotation_request" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."rotation_request_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"key_number" bigint NOT NULL,
	"requested_by" text NOT NULL,
	"reason" text NOT NULL,
	"requested_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "rotation_request_reason_check" CHECK (reason <> ''),
	CONSTRAINT "rotation_request_requested_by_check" CHECK (requested_by <> '')
);
--> statement-breakpoint
CREATE TABLE "keywarden"."rotation_request_answer" (
	"request_number" bigint PRIMARY KEY NOT NULL,
	"rotation_number" bigint,
	"why_not" text,
	"answered_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "rotation_request_answer_check" CHECK ((rotation_number is null) = (why_not is not null))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."rotation_slot" (
	"control_plane_number" bigint NOT NULL,
	"rule" text NOT NULL,
	"slot" timestamp with time zone NOT NULL,
	"begun_at" timestamp with time zone DEFAULT now() NOT NULL,
	"done_at" timestamp with time zone,
	CONSTRAINT "rotation_slot_pkey" PRIMARY KEY("control_plane_number","rule","slot")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."schedule_slot" (
	"schedule" text NOT NULL,
	"slot_at" timestamp with time zone NOT NULL,
	"claimed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"replica" uuid,
	"jobs" integer NOT NULL,
	CONSTRAINT "schedule_slot_pkey" PRIMARY KEY("schedule","slot_at")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."sync_run" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."sync_run_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"connection" text NOT NULL,
	"status" text NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp with time zone,
	"counts" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"error" jsonb,
	CONSTRAINT "sync_run_kind_check" CHECK (kind in ('keys', 'operations', 'credentials')),
	CONSTRAINT "sync_run_status_check" CHECK (status in ('running', 'finished', 'failed', 'interrupted'))
);
--> statement-breakpoint
CREATE TABLE "keywarden"."work_fence" (
	"name" text PRIMARY KEY NOT NULL,
	"fence" bigint NOT NULL,
	"taken_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "keywarden"."access_log" ADD CONSTRAINT "access_log_token_number_fkey" FOREIGN KEY ("token_number") REFERENCES "keywarden"."report_token"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."announcement" ADD CONSTRAINT "announcement_key_number_fkey" FOREIGN KEY ("key_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."approval_end" ADD CONSTRAINT "approval_end_approval_number_fkey" FOREIGN KEY ("approval_number") REFERENCES "keywarden"."plan_approval"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."completed_walk" ADD CONSTRAINT "completed_walk_project_number_fkey" FOREIGN KEY ("project_number") REFERENCES "keywarden"."project"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."connection" ADD CONSTRAINT "connection_control_plane_number_fkey" FOREIGN KEY ("control_plane_number") REFERENCES "keywarden"."control_plane"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."connection_scope" ADD CONSTRAINT "connection_scope_connection_fkey" FOREIGN KEY ("connection") REFERENCES "keywarden"."connection"("name") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."connection_scope" ADD CONSTRAINT "connection_scope_control_plane_number_fkey" FOREIGN KEY ("control_plane_number") REFERENCES "keywarden"."control_plane"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."credential" ADD CONSTRAINT "credential_control_plane_number_fkey" FOREIGN KEY ("control_plane_number") REFERENCES "keywarden"."control_plane"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."exemption_key" ADD CONSTRAINT "exemption_key_exemption_number_fkey" FOREIGN KEY ("exemption_number") REFERENCES "keywarden"."exemption"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."exemption_key" ADD CONSTRAINT "exemption_key_key_number_fkey" FOREIGN KEY ("key_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."finding" ADD CONSTRAINT "finding_key_number_fkey" FOREIGN KEY ("key_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."finding" ADD CONSTRAINT "finding_plan_id_fkey" FOREIGN KEY ("plan_id") REFERENCES "keywarden"."plan"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."incident" ADD CONSTRAINT "incident_intent_number_fkey" FOREIGN KEY ("intent_number") REFERENCES "keywarden"."revocation_intent"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."incident" ADD CONSTRAINT "incident_key_number_fkey" FOREIGN KEY ("key_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."key_listing" ADD CONSTRAINT "key_listing_control_plane_number_fkey" FOREIGN KEY ("control_plane_number") REFERENCES "keywarden"."control_plane"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."key_listing" ADD CONSTRAINT "key_listing_run_number_fkey" FOREIGN KEY ("run_number") REFERENCES "keywarden"."sync_run"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."key_observation" ADD CONSTRAINT "key_observation_key_number_fkey" FOREIGN KEY ("key_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."key_observation" ADD CONSTRAINT "key_observation_run_number_fkey" FOREIGN KEY ("run_number") REFERENCES "keywarden"."sync_run"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."key_owner" ADD CONSTRAINT "key_owner_key_number_fkey" FOREIGN KEY ("key_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."key_use" ADD CONSTRAINT "key_use_key_number_fkey" FOREIGN KEY ("key_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."member" ADD CONSTRAINT "member_control_plane_number_organization_id_fkey" FOREIGN KEY ("control_plane_number","organization_id") REFERENCES "keywarden"."organization"("control_plane_number","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."member_listing" ADD CONSTRAINT "member_listing_control_plane_number_fkey" FOREIGN KEY ("control_plane_number") REFERENCES "keywarden"."control_plane"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."notice" ADD CONSTRAINT "notice_announcement_number_fkey" FOREIGN KEY ("announcement_number") REFERENCES "keywarden"."announcement"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."notice" ADD CONSTRAINT "notice_message_number_fkey" FOREIGN KEY ("message_number") REFERENCES "keywarden"."notice_message"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."notice_message" ADD CONSTRAINT "notice_message_control_plane_number_fkey" FOREIGN KEY ("control_plane_number") REFERENCES "keywarden"."control_plane"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."notice_message" ADD CONSTRAINT "notice_message_incident_number_fkey" FOREIGN KEY ("incident_number") REFERENCES "keywarden"."incident"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."open_walk" ADD CONSTRAINT "open_walk_project_number_fkey" FOREIGN KEY ("project_number") REFERENCES "keywarden"."project"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."operation_coverage" ADD CONSTRAINT "operation_coverage_project_number_fkey" FOREIGN KEY ("project_number") REFERENCES "keywarden"."project"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."organization" ADD CONSTRAINT "organization_control_plane_number_fkey" FOREIGN KEY ("control_plane_number") REFERENCES "keywarden"."control_plane"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."own_key" ADD CONSTRAINT "own_key_connection_fkey" FOREIGN KEY ("connection") REFERENCES "keywarden"."connection"("name") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."plan_approval" ADD CONSTRAINT "plan_approval_plan_id_fkey" FOREIGN KEY ("plan_id") REFERENCES "keywarden"."plan"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."plan_rejection" ADD CONSTRAINT "plan_rejection_plan_id_fkey" FOREIGN KEY ("plan_id") REFERENCES "keywarden"."plan"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."project" ADD CONSTRAINT "project_control_plane_number_fkey" FOREIGN KEY ("control_plane_number") REFERENCES "keywarden"."control_plane"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."rejected_row" ADD CONSTRAINT "rejected_row_control_plane_number_fkey" FOREIGN KEY ("control_plane_number") REFERENCES "keywarden"."control_plane"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."replica_credential" ADD CONSTRAINT "replica_credential_connection_fkey" FOREIGN KEY ("connection") REFERENCES "keywarden"."connection"("name") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."review" ADD CONSTRAINT "review_plan_id_fkey" FOREIGN KEY ("plan_id") REFERENCES "keywarden"."plan"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."review_decision" ADD CONSTRAINT "review_decision_review_number_key_number_fkey" FOREIGN KEY ("review_number","key_number") REFERENCES "keywarden"."review_item"("review_number","key_number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."review_item" ADD CONSTRAINT "review_item_key_number_fkey" FOREIGN KEY ("key_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."review_item" ADD CONSTRAINT "review_item_review_number_fkey" FOREIGN KEY ("review_number") REFERENCES "keywarden"."review"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."review_signature" ADD CONSTRAINT "review_signature_review_number_fkey" FOREIGN KEY ("review_number") REFERENCES "keywarden"."review"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."revocation_intent" ADD CONSTRAINT "revocation_intent_approval_number_fkey" FOREIGN KEY ("approval_number") REFERENCES "keywarden"."plan_approval"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."revocation_intent" ADD CONSTRAINT "revocation_intent_key_number_fkey" FOREIGN KEY ("key_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."revocation_intent" ADD CONSTRAINT "revocation_intent_last_listing_number_fkey" FOREIGN KEY ("last_listing_number") REFERENCES "keywarden"."key_listing"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."revocation_intent" ADD CONSTRAINT "revocation_intent_plan_id_fkey" FOREIGN KEY ("plan_id") REFERENCES "keywarden"."plan"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."revocation_intent" ADD CONSTRAINT "revocation_intent_rotation_number_fkey" FOREIGN KEY ("rotation_number") REFERENCES "keywarden"."rotation"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."revocation_outcome" ADD CONSTRAINT "revocation_outcome_intent_number_fkey" FOREIGN KEY ("intent_number") REFERENCES "keywarden"."revocation_intent"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation" ADD CONSTRAINT "rotation_key_number_fkey" FOREIGN KEY ("key_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation" ADD CONSTRAINT "rotation_line_number_fkey" FOREIGN KEY ("line_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation_event" ADD CONSTRAINT "rotation_event_rotation_number_fkey" FOREIGN KEY ("rotation_number") REFERENCES "keywarden"."rotation"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation_mint" ADD CONSTRAINT "rotation_mint_last_listing_number_fkey" FOREIGN KEY ("last_listing_number") REFERENCES "keywarden"."key_listing"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation_mint" ADD CONSTRAINT "rotation_mint_rotation_number_fkey" FOREIGN KEY ("rotation_number") REFERENCES "keywarden"."rotation"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation_request" ADD CONSTRAINT "rotation_request_key_number_fkey" FOREIGN KEY ("key_number") REFERENCES "keywarden"."credential"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation_request_answer" ADD CONSTRAINT "rotation_request_answer_request_number_fkey" FOREIGN KEY ("request_number") REFERENCES "keywarden"."rotation_request"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation_request_answer" ADD CONSTRAINT "rotation_request_answer_rotation_number_fkey" FOREIGN KEY ("rotation_number") REFERENCES "keywarden"."rotation"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation_slot" ADD CONSTRAINT "rotation_slot_control_plane_number_fkey" FOREIGN KEY ("control_plane_number") REFERENCES "keywarden"."control_plane"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "access_log_by_token" ON "keywarden"."access_log" USING btree ("token_number","number" DESC NULLS FIRST);
--> statement-breakpoint
CREATE UNIQUE INDEX "announcement_open" ON "keywarden"."announcement" USING btree ("key_number","rule") WHERE ended_at is null;
--> statement-breakpoint
CREATE UNIQUE INDEX "key_by_id" ON "keywarden"."credential" USING btree ("control_plane_number","scope","id") WHERE superseded_at is null;
--> statement-breakpoint
CREATE INDEX "key_by_name" ON "keywarden"."credential" USING btree ("control_plane_number","scope","name") WHERE gone_at is null;
--> statement-breakpoint
CREATE INDEX "key_by_record" ON "keywarden"."credential" USING btree ("control_plane_number","id");
--> statement-breakpoint
CREATE INDEX "key_superseded" ON "keywarden"."credential" USING btree ("control_plane_number","scope","id") WHERE superseded_at is not null;
--> statement-breakpoint
CREATE INDEX "other_credential" ON "keywarden"."credential" USING btree ("number") WHERE kind not in ('personal', 'organization', 'project');
--> statement-breakpoint
CREATE INDEX "other_credential_by_project" ON "keywarden"."credential" USING btree ("control_plane_number","project_id") WHERE kind not in ('personal', 'organization', 'project');
--> statement-breakpoint
CREATE INDEX "exemption_key_by_key" ON "keywarden"."exemption_key" USING btree ("key_number");
--> statement-breakpoint
CREATE INDEX "finding_by_plan" ON "keywarden"."finding" USING btree ("plan_id","number");
--> statement-breakpoint
CREATE UNIQUE INDEX "incident_open_of_key" ON "keywarden"."incident" USING btree ("kind","key_number") WHERE closed_at is null and kind in ('rotation_stalled', 'orphan', 'key_changed');
--> statement-breakpoint
CREATE UNIQUE INDEX "incident_open_of_scope" ON "keywarden"."incident" USING btree ("kind","scope") WHERE closed_at is null and key_number is null;
--> statement-breakpoint
CREATE INDEX "job_run_by_kind" ON "keywarden"."job_run" USING btree ("kind","account","number" DESC NULLS FIRST);
--> statement-breakpoint
CREATE INDEX "job_run_by_time" ON "keywarden"."job_run" USING btree ("started_at");
--> statement-breakpoint
CREATE INDEX "key_listing_believed" ON "keywarden"."key_listing" USING btree ("control_plane_number","scope","listed_at" DESC NULLS FIRST) WHERE doubt is null;
--> statement-breakpoint
CREATE INDEX "key_listing_by_scope" ON "keywarden"."key_listing" USING btree ("control_plane_number","scope","number" DESC NULLS FIRST);
--> statement-breakpoint
CREATE INDEX "key_listing_doubted" ON "keywarden"."key_listing" USING btree ("control_plane_number","scope","number" DESC NULLS FIRST) WHERE doubt is not null;
--> statement-breakpoint
CREATE INDEX "key_observation_by_key" ON "keywarden"."key_observation" USING btree ("key_number","number");
--> statement-breakpoint
CREATE INDEX "key_owner_by_key" ON "keywarden"."key_owner" USING btree ("key_number","number" DESC NULLS FIRST);
--> statement-breakpoint
CREATE INDEX "key_use_by_time" ON "keywarden"."key_use" USING btree ("last_used_at");
--> statement-breakpoint
CREATE INDEX "member_by_user" ON "keywarden"."member" USING btree ("control_plane_number","user_id");
--> statement-breakpoint
CREATE INDEX "notice_by_message" ON "keywarden"."notice" USING btree ("message_number");
--> statement-breakpoint
CREATE INDEX "notice_message_by_incident" ON "keywarden"."notice_message" USING btree ("incident_number") WHERE incident_number is not null;
--> statement-breakpoint
CREATE INDEX "notice_message_pending" ON "keywarden"."notice_message" USING btree ("number") WHERE accepted_at is null and cancelled_at is null;
--> statement-breakpoint
CREATE INDEX "operation_by_time" ON "keywarden"."operation" USING btree ("created_at" DESC NULLS FIRST,"project_number" DESC NULLS FIRST,"id" DESC NULLS FIRST);
--> statement-breakpoint
CREATE INDEX "operation_open" ON "keywarden"."operation" USING btree ("project_number","created_at") WHERE status not in ('finished', 'cancelled', 'skipped');
--> statement-breakpoint
CREATE UNIQUE INDEX "pause_open" ON "keywarden"."pause" USING btree ((resumed_at is null)) WHERE resumed_at is null;
--> statement-breakpoint
CREATE INDEX "plan_approval_by_plan" ON "keywarden"."plan_approval" USING btree ("plan_id","approved_at");
--> statement-breakpoint
CREATE INDEX "plan_rejection_by_plan" ON "keywarden"."plan_rejection" USING btree ("plan_id","rejected_at");
--> statement-breakpoint
CREATE INDEX "rejected_row_by_time" ON "keywarden"."rejected_row" USING btree ("last_seen_at");
--> statement-breakpoint
CREATE INDEX "review_decision_by_item" ON "keywarden"."review_decision" USING btree ("review_number","key_number","number" DESC NULLS FIRST);
--> statement-breakpoint
CREATE INDEX "review_decision_by_key" ON "keywarden"."review_decision" USING btree ("key_number");
--> statement-breakpoint
CREATE INDEX "revocation_intent_by_rotation" ON "keywarden"."revocation_intent" USING btree ("rotation_number") WHERE rotation_number is not null;
--> statement-breakpoint
CREATE INDEX "revocation_intent_by_time" ON "keywarden"."revocation_intent" USING btree (coalesce(judged_at, created_at));
--> statement-breakpoint
CREATE INDEX "rotation_by_key" ON "keywarden"."rotation" USING btree ("key_number");
--> statement-breakpoint
CREATE INDEX "rotation_by_line" ON "keywarden"."rotation" USING btree ("line_number");
--> statement-breakpoint
CREATE UNIQUE INDEX "rotation_open" ON "keywarden"."rotation" USING btree ("line_number") WHERE ended_at is null;
--> statement-breakpoint
CREATE INDEX "rotation_mint_by_key" ON "keywarden"."rotation_mint" USING btree ("key_id") WHERE key_id is not null;
--> statement-breakpoint
CREATE INDEX "rotation_mint_by_place" ON "keywarden"."rotation_mint" USING btree ("place") WHERE place is not null;
--> statement-breakpoint
CREATE INDEX "sync_run_by_connection" ON "keywarden"."sync_run" USING btree ("connection","kind","number" DESC NULLS FIRST) WHERE status = 'finished';
