-- A view reads the column. It is made again with all others after the migrations.
DROP VIEW IF EXISTS "keywarden"."plan_standing";
--> statement-breakpoint
ALTER TABLE "keywarden"."policy_version" ALTER COLUMN "document" SET DATA TYPE text;
