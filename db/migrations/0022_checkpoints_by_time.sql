CREATE INDEX "ledger_checkpoint_by_time" ON "keywarden"."ledger_checkpoint" USING btree ("made_at");
--> statement-breakpoint
-- The zero time, which earlier versions took for a last use.
DO $$
DECLARE
	is_guarded boolean := exists (SELECT FROM pg_trigger WHERE tgname = 'use_is_kept' AND tgrelid = 'keywarden.credential'::regclass);
BEGIN
	IF is_guarded THEN ALTER TABLE "keywarden"."credential" DISABLE TRIGGER "use_is_kept"; END IF;
	UPDATE "keywarden"."credential" SET "last_used_at" = NULL, "use_went_back" = false WHERE "last_used_at" <= '0001-01-01T00:00:00Z';
	IF is_guarded THEN ALTER TABLE "keywarden"."credential" ENABLE TRIGGER "use_is_kept"; END IF;
END
$$;
--> statement-breakpoint
DELETE FROM "keywarden"."key_use" WHERE "last_used_at" <= '0001-01-01T00:00:00Z';
