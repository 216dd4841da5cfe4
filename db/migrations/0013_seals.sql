CREATE TABLE "keywarden"."ledger_key" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."ledger_key_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"public_key" text NOT NULL,
	"added_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"ended_at" timestamp with time zone,
	CONSTRAINT "ledger_key_public_key_key" UNIQUE("public_key")
);
--> statement-breakpoint
CREATE TABLE "keywarden"."operation_seal" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."operation_seal_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_number" bigint NOT NULL,
	"project" text NOT NULL,
	"day" date NOT NULL,
	"operations" bigint NOT NULL,
	"root" text NOT NULL,
	"covered" text NOT NULL,
	"gaps" text NOT NULL,
	"replaces" bigint,
	"sealed_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "keywarden"."operation_sealing" (
	"project_number" bigint PRIMARY KEY NOT NULL,
	"sealed_to" date NOT NULL,
	"changed" datemultirange DEFAULT '{}' NOT NULL,
	"changed_at" timestamp with time zone
);
--> statement-breakpoint
CREATE INDEX "operation_seal_by_day" ON "keywarden"."operation_seal" USING btree ("project_number","day","number");
