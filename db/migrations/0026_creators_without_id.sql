-- Ids that name no person, which earlier versions took for that of one.
UPDATE "keywarden"."credential" SET "creator_id" = 'unknown', "creator_name" = NULL WHERE "creator_id" IN ('', '00000000-0000-0000-0000-000000000000');
