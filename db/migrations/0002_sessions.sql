CREATE TABLE "keywarden"."report_session" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."report_session_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"session_hash" text NOT NULL,
	"token_number" bigint NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"address" text NOT NULL,
	"agent" text NOT NULL,
	"ended_at" timestamp with time zone,
	"ended_by" text,
	CONSTRAINT "report_session_session_hash_key" UNIQUE("session_hash")
);
--> statement-breakpoint
ALTER TABLE "keywarden"."incident" DROP CONSTRAINT "incident_kind_check";
--> statement-breakpoint
ALTER TABLE "keywarden"."access_log" ALTER COLUMN "token_number" DROP NOT NULL;
--> statement-breakpoint
ALTER TABLE "keywarden"."access_log" ADD COLUMN "event" text DEFAULT 'request' NOT NULL;
--> statement-breakpoint
ALTER TABLE "keywarden"."access_log" ADD COLUMN "minute" timestamp with time zone;
--> statement-breakpoint
ALTER TABLE "keywarden"."access_log" ADD COLUMN "times" integer DEFAULT 1 NOT NULL;
--> statement-breakpoint
ALTER TABLE "keywarden"."review_signature" ADD COLUMN "content_sha256" text;
--> statement-breakpoint
ALTER TABLE "keywarden"."report_session" ADD CONSTRAINT "report_session_token_number_fkey" FOREIGN KEY ("token_number") REFERENCES "keywarden"."report_token"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "report_session_by_token" ON "keywarden"."report_session" USING btree ("token_number");
--> statement-breakpoint
CREATE UNIQUE INDEX "access_log_refusal" ON "keywarden"."access_log" USING btree ("minute","address","event","status",coalesce(token_number, 0)) WHERE minute is not null;
--> statement-breakpoint
ALTER TABLE "keywarden"."access_log" ADD CONSTRAINT "access_log_event_check" CHECK (event in ('request', 'sign_in', 'sign_in_failed', 'sign_out', 'token_refused'));
--> statement-breakpoint
ALTER TABLE "keywarden"."access_log" ADD CONSTRAINT "access_log_size" CHECK (octet_length(path) <= 8192 and octet_length(query) <= 8192);
--> statement-breakpoint
ALTER TABLE "keywarden"."incident" ADD CONSTRAINT "incident_kind_check" CHECK (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed', 'key_changed', 'configuration', 'listing_doubted', 'signature_broken'));
