import {
  type HoleReason,
  listCoverage,
  type ProjectCoverage,
  type Reader,
  readControlPlaneNow,
} from '@keywarden/db/report';

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

/** A walk comes every few minutes, and leaves out the newest quarter of an hour: a hole of a day is none of those. */
const settlingMs = 25 * 3_600_000;

/** Coverage speaks of times until a project was last listed; when nobody has listed it for a day, of the time since nothing is known. */
function unlisted({ gone_at: goneAt, last_listed_at: lastListedAt }: ProjectCoverage, controlPlaneNowMs: number) {
  const isOld = goneAt === null && controlPlaneNowMs - Date.parse(lastListedAt) > settlingMs;
  return isOld
    ? [{ from: lastListedAt, to: new Date(controlPlaneNowMs).toISOString(), reason: 'recent' as const }]
    : [];
}

/** The holes of the archive in a range of times, in the projects that somebody sees. */
export async function readOperationHoles(
  reader: Reader,
  {
    projectId,
    organizations,
    from,
    to,
    settledAt,
  }: {
    projectId?: string | undefined;
    organizations: string[] | null;
    from?: string | undefined;
    to?: string | undefined;
    /** Then what was still settling is no hole: the newest day of what was walked. */
    settledAt?: string;
  },
): Promise<{ holes: OperationHole[]; holes_not_named: number }> {
  const [fromMs, toMs] = [
    from === undefined ? -Infinity : Date.parse(from),
    to === undefined ? Infinity : Date.parse(to),
  ];
  const controlPlaneNowMs = Date.parse(await readControlPlaneNow(reader));
  const settledMs = settledAt === undefined ? Infinity : Date.parse(settledAt) - settlingMs;
  const holes: OperationHole[] = [];
  let count = 0;
  for (let after: string | null = null; ; ) {
    const projects = await listCoverage(reader, { projectId, organizations, after, limit: batch });
    for (const coverage of projects) {
      for (const hole of [...coverage.unknown, ...unlisted(coverage, controlPlaneNowMs)]) {
        if (Date.parse(hole.to) < fromMs || Date.parse(hole.from) >= toMs) continue;
        if (hole.reason === 'recent' && Date.parse(hole.from) > settledMs) continue;
        count += 1;
        if (count > mostNamed) continue;
        const { control_plane, project_id } = coverage;
        holes.push({ control_plane, project_id, from: hole.from, to: hole.to, reason: hole.reason });
      }
    }
    if (projects.length < batch) return { holes, holes_not_named: count - holes.length };
    after = projects.at(-1)?.number ?? null;
  }
}
