CREATE TABLE "keywarden"."enforcement_state" (
	"machine" text PRIMARY KEY NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"why_not_approved" text,
	"why_not_automatic" text,
	"approvals_since" timestamp with time zone,
	"next_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "keywarden"."finding" ADD COLUMN "made_at" timestamp with time zone DEFAULT now() NOT NULL;
--> statement-breakpoint
ALTER TABLE "keywarden"."finding" ADD COLUMN "in_breaker" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "keywarden"."plan" ADD COLUMN "approves" text;
--> statement-breakpoint
ALTER TABLE "keywarden"."plan" ADD COLUMN "derived_from" text;
--> statement-breakpoint
ALTER TABLE "keywarden"."plan" ADD COLUMN "findings_at" timestamp with time zone DEFAULT now() NOT NULL;
--> statement-breakpoint
-- What an approval of an earlier plan has acknowledged stays acknowledged.
UPDATE "keywarden"."finding" SET "in_breaker" = true WHERE "action" = 'revoke' AND "hold_kind" IN ('over_quota', 'unannounced', 'seen_once');
