ALTER TABLE "keywarden"."member" ADD COLUMN "returned_at" timestamp with time zone;
