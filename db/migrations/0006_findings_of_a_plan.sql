DROP INDEX "keywarden"."finding_by_plan";
--> statement-breakpoint
CREATE INDEX "finding_of_plan" ON "keywarden"."finding" USING btree ("plan_id","made_at","number");
