ALTER TABLE "keywarden"."access_log" ALTER COLUMN "at" SET DEFAULT clock_timestamp();
--> statement-breakpoint
ALTER TABLE "keywarden"."incident" ALTER COLUMN "opened_at" SET DEFAULT clock_timestamp();
--> statement-breakpoint
ALTER TABLE "keywarden"."operation_drop" ALTER COLUMN "announced_at" SET DEFAULT clock_timestamp();
--> statement-breakpoint
ALTER TABLE "keywarden"."plan_approval" ALTER COLUMN "approved_at" SET DEFAULT clock_timestamp();
--> statement-breakpoint
ALTER TABLE "keywarden"."report_session" ALTER COLUMN "created_at" SET DEFAULT clock_timestamp();
--> statement-breakpoint
ALTER TABLE "keywarden"."report_session" ALTER COLUMN "last_seen_at" SET DEFAULT clock_timestamp();
--> statement-breakpoint
ALTER TABLE "keywarden"."review" ALTER COLUMN "opened_at" SET DEFAULT clock_timestamp();
--> statement-breakpoint
ALTER TABLE "keywarden"."review_campaign" ALTER COLUMN "opened_at" SET DEFAULT clock_timestamp();
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation_request" ALTER COLUMN "requested_at" SET DEFAULT clock_timestamp();
