ALTER TABLE "keywarden"."incident" DROP CONSTRAINT "incident_kind_check";
--> statement-breakpoint
ALTER TABLE "keywarden"."incident" ADD CONSTRAINT "incident_kind_check" CHECK (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed', 'key_changed', 'configuration', 'listing_doubted', 'signature_broken', 'review_overdue', 'ledger_inconsistent', 'revocation_undone'));
