DELETE FROM "keywarden"."completed_walk" w USING (
	SELECT "project_number", "day", "to_end", min("reached") OVER later AS "deepest", min("reached") FILTER (WHERE "to_end") OVER later AS "deepest_end"
	FROM "keywarden"."completed_walk"
	WINDOW later AS (PARTITION BY "project_number" ORDER BY "began_at" DESC, "to_end" DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
) l WHERE (w."project_number", w."day", w."to_end") = (l."project_number", l."day", l."to_end")
	AND (w."reached" > l."deepest" OR w."reached" = l."deepest" AND NOT w."to_end" OR w."reached" = l."deepest_end");
--> statement-breakpoint
CREATE INDEX "completed_walk_by_depth" ON "keywarden"."completed_walk" USING btree ("project_number","reached","began_at");
--> statement-breakpoint
CREATE INDEX "completed_walk_to_end" ON "keywarden"."completed_walk" USING btree ("project_number","reached") WHERE to_end;
