ALTER TABLE "keywarden"."report_token" ADD COLUMN "created_by" text;
--> statement-breakpoint
ALTER TABLE "keywarden"."report_token" ADD COLUMN "revoked_by" text;
