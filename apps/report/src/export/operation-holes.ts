import { type HoleReason, listCoverage, type Reader } from '@keywarden/db/read';

/** A time of a project for which the archive may lack operations, and why. */
export interface OperationHole {
  control_plane: string;
  project_id: string;
  from: string;
  to: string;
  reason: HoleReason;
}

/** More than that are counted, and not named: /v1/coverage/operations pages through all. */
const mostNamed = 10_000;
const batch = 500;

/** The holes of the archive in a range of times, in the projects that somebody sees. */
export async function readOperationHoles(
  reader: Reader,
  {
    projectId,
    organizations,
    from,
    to,
  }: {
    projectId?: string | undefined;
    organizations: string[] | null;
    from?: string | undefined;
    to?: string | undefined;
  },
): Promise<{ holes: OperationHole[]; holes_not_named: number }> {
  const [fromMs, toMs] = [
    from === undefined ? -Infinity : Date.parse(from),
    to === undefined ? Infinity : Date.parse(to),
  ];
  const holes: OperationHole[] = [];
  let count = 0;
  for (let after: string | null = null; ; ) {
    const projects = await listCoverage(reader, { projectId, organizations, after, limit: batch });
    for (const { controlPlane, projectId: project, unknown } of projects) {
      for (const hole of unknown) {
        if (Date.parse(hole.to) < fromMs || Date.parse(hole.from) >= toMs) continue;
        count += 1;
        if (count > mostNamed) continue;
        holes.push({
          control_plane: controlPlane,
          project_id: project,
          from: hole.from,
          to: hole.to,
          reason: hole.reason,
        });
      }
    }
    if (projects.length < batch) return { holes, holes_not_named: count - holes.length };
    after = projects.at(-1)?.number ?? null;
  }
}
