ALTER TABLE "keywarden"."key_listing" ADD COLUMN "is_sudden" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
UPDATE "keywarden"."key_listing" SET "is_sudden" = true WHERE "why_suspect" ~ '^\d+ keys where \d+ were expected$';
