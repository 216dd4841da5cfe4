ALTER TABLE "keywarden"."key_listing" RENAME COLUMN "doubt" TO "why_suspect";
--> statement-breakpoint
ALTER INDEX "keywarden"."key_listing_doubted" RENAME TO "key_listing_suspect";
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation_mint" RENAME COLUMN "fate" TO "outcome";
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation_mint" RENAME CONSTRAINT "rotation_mint_fate_check" TO "rotation_mint_outcome_check";
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation" RENAME COLUMN "line_number" TO "lineage_number";
--> statement-breakpoint
ALTER TABLE "keywarden"."rotation" RENAME CONSTRAINT "rotation_line_number_fkey" TO "rotation_lineage_number_fkey";
--> statement-breakpoint
ALTER INDEX "keywarden"."rotation_by_line" RENAME TO "rotation_by_lineage";
