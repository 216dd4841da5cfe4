DROP INDEX "keywarden"."key_by_name";
--> statement-breakpoint
CREATE INDEX "live_key_by_scope" ON "keywarden"."credential" USING btree ("control_plane_number","scope") WHERE gone_at is null;
