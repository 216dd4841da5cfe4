CREATE INDEX "ledger_checkpoint_by_time" ON "keywarden"."ledger_checkpoint" USING btree ("made_at");
