-- Seals say when a project was created, and when it was deleted. The days of both, where they are sealed, are sealed again with that.
UPDATE "keywarden"."operation_sealing" s
SET "changed" = s."changed" + datemultirange(daterange((p."created_at" AT TIME ZONE 'UTC')::date, (p."created_at" AT TIME ZONE 'UTC')::date, '[]')),
  "changed_at" = coalesce(s."changed_at", '1970-01-01T00:00:00Z'::timestamptz)
FROM "keywarden"."project" p
WHERE p."number" = s."project_number" AND EXISTS (SELECT FROM "keywarden"."operation_seal" o
  WHERE o."project_number" = s."project_number" AND o."day" = (p."created_at" AT TIME ZONE 'UTC')::date);
--> statement-breakpoint
UPDATE "keywarden"."operation_sealing" s
SET "changed" = s."changed" + datemultirange(daterange((p."missing_since" AT TIME ZONE 'UTC')::date, (p."missing_since" AT TIME ZONE 'UTC')::date, '[]')),
  "changed_at" = coalesce(s."changed_at", '1970-01-01T00:00:00Z'::timestamptz)
FROM "keywarden"."project" p
WHERE p."number" = s."project_number" AND p."deleted_at" IS NOT NULL AND EXISTS (SELECT FROM "keywarden"."operation_seal" o
  WHERE o."project_number" = s."project_number" AND o."day" = (p."missing_since" AT TIME ZONE 'UTC')::date);
