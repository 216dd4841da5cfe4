CREATE INDEX "access_log_by_time" ON "keywarden"."access_log" USING btree ("at");
--> statement-breakpoint
CREATE INDEX "gone_key_by_scope" ON "keywarden"."credential" USING btree ("control_plane_number","scope","gone_at") WHERE gone_at is not null;
--> statement-breakpoint
CREATE INDEX "key_listing_by_control_plane" ON "keywarden"."key_listing" USING btree ("control_plane_number","number");
--> statement-breakpoint
CREATE INDEX "ledger_event_by_type" ON "keywarden"."ledger_event" USING btree ("type","number");
--> statement-breakpoint
CREATE INDEX "ledger_event_by_time" ON "keywarden"."ledger_event" USING btree ("recorded_at","number");
--> statement-breakpoint
CREATE INDEX "operation_seal_with_gaps" ON "keywarden"."operation_seal" USING btree ("day") WHERE gaps <> '[]';
--> statement-breakpoint
CREATE INDEX "revocation_intent_by_plan" ON "keywarden"."revocation_intent" USING btree ("plan_id","number") WHERE plan_id is not null;
--> statement-breakpoint
CREATE INDEX "sync_run_unfinished" ON "keywarden"."sync_run" USING btree ("status","number" DESC NULLS FIRST) WHERE status <> 'finished';
