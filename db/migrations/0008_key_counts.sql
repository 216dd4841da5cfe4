CREATE TABLE "keywarden"."key_count" (
	"day" date NOT NULL,
	"control_plane_number" bigint NOT NULL,
	"organization_id" text NOT NULL,
	"live" integer NOT NULL,
	"idle" integer NOT NULL,
	"unknown" integer NOT NULL,
	CONSTRAINT "key_count_pkey" PRIMARY KEY("day","control_plane_number","organization_id")
);
--> statement-breakpoint
ALTER TABLE "keywarden"."key_count" ADD CONSTRAINT "key_count_control_plane_number_fkey" FOREIGN KEY ("control_plane_number") REFERENCES "keywarden"."control_plane"("number") ON DELETE no action ON UPDATE no action;
