CREATE TABLE "keywarden"."report_export" (
	"sha256" text PRIMARY KEY NOT NULL,
	"path" text NOT NULL,
	"records" bigint NOT NULL,
	"completed_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"exported_by" text
);
