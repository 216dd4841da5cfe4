ALTER TABLE "keywarden"."enforcement_state" ADD COLUMN "sinks" integer;
