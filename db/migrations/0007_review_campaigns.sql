CREATE TABLE "keywarden"."review_campaign" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."review_campaign_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"title" text NOT NULL,
	"split_by" text NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"remind_days" integer[] NOT NULL,
	"default_decision" text NOT NULL,
	"keep_needs_reason" text NOT NULL,
	"escalate_to" text,
	"escalate_after_days" integer NOT NULL,
	"opened_by" text NOT NULL,
	"opened_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "review_campaign_split_by_check" CHECK (split_by in ('organization', 'owner')),
	CONSTRAINT "review_campaign_default_decision_check" CHECK (default_decision in ('none', 'keep', 'revoke')),
	CONSTRAINT "review_campaign_keep_needs_reason_check" CHECK (keep_needs_reason in ('always', 'finding', 'flagged')),
	CONSTRAINT "review_campaign_title_check" CHECK (title <> ''),
	CONSTRAINT "review_campaign_opened_by_check" CHECK (opened_by <> ''),
	CONSTRAINT "review_campaign_due_at_check" CHECK (due_at > opened_at)
);
--> statement-breakpoint
CREATE TABLE "keywarden"."review_reminder" (
	"review_number" bigint NOT NULL,
	"step" text NOT NULL,
	"channel" text NOT NULL,
	"message_number" bigint NOT NULL,
	CONSTRAINT "review_reminder_pkey" PRIMARY KEY("review_number","step","channel")
);
--> statement-breakpoint
ALTER TABLE "keywarden"."incident" DROP CONSTRAINT "incident_kind_check";
--> statement-breakpoint
ALTER TABLE "keywarden"."review" ADD COLUMN "campaign_number" bigint;
--> statement-breakpoint
ALTER TABLE "keywarden"."review" ADD COLUMN "reviewer" text;
--> statement-breakpoint
ALTER TABLE "keywarden"."review_reminder" ADD CONSTRAINT "review_reminder_review_number_fkey" FOREIGN KEY ("review_number") REFERENCES "keywarden"."review"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."review_reminder" ADD CONSTRAINT "review_reminder_message_number_fkey" FOREIGN KEY ("message_number") REFERENCES "keywarden"."notice_message"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."review" ADD CONSTRAINT "review_campaign_number_fkey" FOREIGN KEY ("campaign_number") REFERENCES "keywarden"."review_campaign"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "review_by_campaign" ON "keywarden"."review" USING btree ("campaign_number") WHERE campaign_number is not null;
--> statement-breakpoint
CREATE INDEX "review_item_by_key" ON "keywarden"."review_item" USING btree ("key_number");
--> statement-breakpoint
ALTER TABLE "keywarden"."incident" ADD CONSTRAINT "incident_kind_check" CHECK (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed', 'key_changed', 'configuration', 'listing_doubted', 'signature_broken', 'review_overdue'));
