CREATE INDEX "finding_of_key" ON "keywarden"."finding" USING btree ("plan_id","key_number");
--> statement-breakpoint
CREATE INDEX "project_by_organization" ON "keywarden"."project" USING btree ("control_plane_number","organization_id");
