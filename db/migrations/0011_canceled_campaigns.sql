ALTER TABLE "keywarden"."review_campaign" ADD COLUMN "canceled_at" timestamp with time zone;
--> statement-breakpoint
ALTER TABLE "keywarden"."review_campaign" ADD COLUMN "canceled_by" text;
--> statement-breakpoint
ALTER TABLE "keywarden"."review_campaign" ADD COLUMN "canceled_because" text;
