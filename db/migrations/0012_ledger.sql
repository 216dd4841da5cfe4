CREATE TABLE "keywarden"."ledger_checkpoint" (
	"size" bigint PRIMARY KEY NOT NULL,
	"note" text NOT NULL,
	"made_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "keywarden"."ledger_cosignature" (
	"size" bigint NOT NULL,
	"witness" text NOT NULL,
	"lines" text NOT NULL,
	"at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "ledger_cosignature_pkey" PRIMARY KEY("size","witness")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."ledger_event" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."ledger_event_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"type" text NOT NULL,
	"subject" text NOT NULL,
	"leaf" text NOT NULL,
	"content" text NOT NULL,
	"recorded_at" timestamp with time zone NOT NULL,
	"leaf_index" bigint,
	CONSTRAINT "ledger_event_leaf_index_key" UNIQUE("leaf_index")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."ledger_salt" (
	"event_number" bigint PRIMARY KEY NOT NULL,
	"salt" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "keywarden"."ledger_tile" (
	"level" integer NOT NULL,
	"index" bigint NOT NULL,
	"hashes" "bytea" NOT NULL,
	CONSTRAINT "ledger_tile_pkey" PRIMARY KEY("level","index")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."policy_in_force" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."policy_in_force_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"policy_sha256" text NOT NULL,
	"since" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "keywarden"."incident" DROP CONSTRAINT "incident_kind_check";
--> statement-breakpoint
ALTER TABLE "keywarden"."ledger_cosignature" ADD CONSTRAINT "ledger_cosignature_size_fkey" FOREIGN KEY ("size") REFERENCES "keywarden"."ledger_checkpoint"("size") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."ledger_salt" ADD CONSTRAINT "ledger_salt_event_number_fkey" FOREIGN KEY ("event_number") REFERENCES "keywarden"."ledger_event"("number") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "keywarden"."policy_in_force" ADD CONSTRAINT "policy_in_force_policy_sha256_fkey" FOREIGN KEY ("policy_sha256") REFERENCES "keywarden"."policy_version"("sha256") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "ledger_event_waiting" ON "keywarden"."ledger_event" USING btree ("number") WHERE leaf_index is null;
--> statement-breakpoint
CREATE INDEX "ledger_event_by_subject" ON "keywarden"."ledger_event" USING btree ("subject","type","number");
--> statement-breakpoint
ALTER TABLE "keywarden"."incident" ADD CONSTRAINT "incident_kind_check" CHECK (kind in ('used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan', 'job_failed', 'key_changed', 'configuration', 'listing_doubted', 'signature_broken', 'review_overdue', 'ledger_inconsistent'));
