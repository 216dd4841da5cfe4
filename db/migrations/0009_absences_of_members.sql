ALTER TABLE "keywarden"."member" ADD COLUMN "away_since" timestamp with time zone;
