import { z } from '@hono/zod-openapi';
import { gapSettlingMs, mostGapsListed } from '@keywarden/core/ledger';
import { operationCoverage, type Reader, streamCoverage } from '@keywarden/db/report';

/** An interval of a project for which the archive may lack operations, and the reason. */
export const operationGap = z.strictObject({
  control_plane: z.string(),
  project_id: z.string(),
  from: z.string(),
  to: z.string(),
  reason: operationCoverage.shape.unknown.element.shape.reason,
});
type OperationGap = z.output<typeof operationGap>;

interface GapQuery {
  projectId?: string | undefined;
  organizations: string[] | null;
  from?: string | undefined;
  to?: string | undefined;
  /** If given, a gap in the last day before it that is still settling is left out. */
  settledAt?: string;
}

/** Returns the coverage gaps of the archive in a time range, for the projects of the given organizations. */
export async function readOperationGaps(
  reader: Reader,
  { projectId, organizations, from, to, settledAt }: GapQuery,
): Promise<{ holes: OperationGap[]; holes_not_named: number }> {
  const fromMs = from === undefined ? -Infinity : Date.parse(from);
  const toMs = to === undefined ? Infinity : Date.parse(to);
  const settledMs = settledAt === undefined ? Infinity : Date.parse(settledAt) - gapSettlingMs;
  const holes: OperationGap[] = [];
  let count = 0;
  for await (const projects of streamCoverage(reader, { projectId, organizations }))
    for (const { coverage } of projects)
      for (const hole of coverage.unknown) {
        if (Date.parse(hole.to) < fromMs || Date.parse(hole.from) >= toMs) continue;
        if (hole.reason === 'recent' && Date.parse(hole.from) > settledMs) continue;
        count += 1;
        if (count > mostGapsListed) continue;
        const { control_plane, project_id } = coverage;
        holes.push({ control_plane, project_id, from: hole.from, to: hole.to, reason: hole.reason });
      }
  return { holes, holes_not_named: count - holes.length };
}
