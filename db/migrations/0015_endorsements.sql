ALTER TABLE "keywarden"."ledger_key" ADD COLUMN "endorsement" text;
