CREATE TABLE "keywarden"."ledger_beginning" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "keywarden"."ledger_beginning_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"former_checkpoint" text,
	"seen_checkpoint" text,
	"reason" text NOT NULL,
	"begun_by" text NOT NULL,
	"begun_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
