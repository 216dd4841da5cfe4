DROP INDEX "keywarden"."key_by_name";
--> statement-breakpoint
CREATE INDEX "key_by_name" ON "keywarden"."credential" USING hash ("name") WHERE gone_at is null;
