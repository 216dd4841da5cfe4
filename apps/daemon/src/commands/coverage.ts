import { countOf } from '@keywarden/core/values';
import {
  type GapReason,
  gapReasons,
  type Interval,
  type InventoryCoverage,
  listInventoryCoverage,
  listRejectedRows,
  type ProjectCoverage,
  type StoredRejectedRow,
  streamCoverage,
} from '@keywarden/db/daemon';
import type { Db } from '@keywarden/db/store';
import { usageError } from '@keywarden/runtime';
import { describeCommand } from './command.ts';
import { wholeList } from './common.ts';
import { type Columns, joined, type Listed, list } from './output.ts';
import { inEmergency } from './with-context.ts';

export const coverageCommand = describeCommand({
  name: 'coverage',
  about: 'List the times for which the archive has every operation, and each gap with its reason',
  options: {
    '--project <id>': 'list each interval of this project',
    '--keys': 'list when the keys of each scope were listed completely',
    '--rejected': 'list the rows that could not be read, with the reason',
  },
  output: 'list',
  examples: ['', '--project misty-tree-5c2091d2', '--keys'],
  needs: inEmergency,
  check({ project, keys = false, rejected = false }) {
    if (Number(keys) + Number(rejected) + Number(project !== undefined) > 1)
      throw usageError('--keys, --rejected and --project exclude each other; use one of them.');
  },
  async run({ store }, { project, keys = false, rejected = false, output }) {
    if (keys) return listInventory(await listInventoryCoverage(store.db));
    if (rejected) return listRejected(await listRejectedRows(store.db, { limit: wholeList }));
    const found = await readCoverage(store.db, project);
    const isOneForPeople = project !== undefined && output === 'table';
    return isOneForPeople ? { text: found.map(renderOne).join('\n\n'), json: null } : listAll(found);
  },
});

async function readCoverage(db: Db, project: string | undefined): Promise<ProjectCoverage[]> {
  const found: ProjectCoverage[] = [];
  for await (const rows of streamCoverage(db, { projectId: project }))
    found.push(...rows.map(({ coverage }) => coverage));
  if (project === undefined || found.length > 0) return found;
  throw usageError(`The store has no project ${project}. Run keywarden sync operations to read the projects.`);
}

function rejectedToJson({ controlPlane, firstSeenAt, lastSeenAt, ...rest }: StoredRejectedRow) {
  return { control_plane: controlPlane, first_seen_at: firstSeenAt, last_seen_at: lastSeenAt, ...rest };
}

function listRejected(rows: StoredRejectedRow[]): Listed {
  const columns: Columns<StoredRejectedRow> = {
    LIST: ({ list }) => list,
    'SCOPE OR PROJECT': ({ place }) => place,
    ID: ({ id }) => id ?? '-',
    'WHY IT CANNOT BE READ': ({ why }) => why,
    TIMES: ({ times }) => String(times),
    'LAST SEEN': ({ lastSeenAt }) => lastSeenAt,
  };
  return list(rows, columns, {
    json: { rows: rows.map(rejectedToJson) },
    none: 'Every row of every list could be read.',
    after:
      'Keywarden concludes nothing from what such a list lacks. It revokes no key in such a scope, and claims no interval with such an operation.',
  });
}

function listInventory(scopes: InventoryCoverage[]): Listed {
  const columns: Columns<InventoryCoverage> = {
    SCOPE: ({ scope }) => scope,
    'FIRST LISTED': (each) => each.first_listed_at ?? '-',
    'LAST LISTED': (each) => each.last_listed_at ?? '-',
    LISTINGS: ({ listings }) => String(listings),
    'GAPS OF OVER A DAY': ({ gaps }) => gaps.map(({ from, to }) => `${from} to ${to}`).join(', ') || 'none',
    SUSPECT: ({ suspect }) => (suspect === null ? 'no' : `since ${suspect.since}: ${suspect.why}`),
  };
  return list(scopes, columns, {
    json: { scopes },
    none: 'No keys are listed yet. Run keywarden sync keys to list them.',
  });
}

function toJson({ known, unknown, ...project }: ProjectCoverage) {
  const bounded = ({ from, to, from_included: isFrom, to_included: isTo }: Interval) => ({
    from,
    to,
    bounds: `${isFrom ? '[' : '('}${isTo ? ']' : ')'}`,
  });
  return {
    ...project,
    known: known.map(bounded),
    unknown: unknown.map((gap) => ({ ...bounded(gap), reason: gap.reason })),
  };
}

/** Returns one line for each project: its coverage, and the gaps within and before it. */
function listAll(projects: ProjectCoverage[]): Listed {
  const columns: Columns<ProjectCoverage> = {
    PROJECT: (project) => project.project_id,
    ORGANIZATION: (project) => project.organization_id,
    'COVERED FROM': ({ known }) => known[0]?.from ?? 'nothing yet',
    UNTIL: ({ known }) => known.at(-1)?.to ?? '',
    'LAST LISTED': (project) => project.last_listed_at,
    GAPS: ({ unknown }) => namesOf(unknown) || 'none',
  };
  const covered = projects.filter(
    ({ known, unknown }) => known.length > 0 && unknown.every(({ reason }) => reason === 'recent'),
  ).length;
  return list(projects, columns, {
    json: { projects: projects.map(toJson) },
    none: 'The store has no project yet. Run keywarden sync operations to read the projects.',
    after: `Covered without a gap from creation to shortly before the last walk: ${covered} of ${countOf(projects.length, 'project')}. keywarden coverage --project ID lists each gap with its reason.`,
  });
}

/** Returns the reasons with their counts. It leaves out the unsettled newest minutes, which every project has. */
function namesOf(unknown: ProjectCoverage['unknown']): string {
  const counts = new Map<GapReason, number>();
  for (const { reason } of unknown) if (reason !== 'recent') counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, count]) => (count === 1 ? reason : `${count} ${reason}`)).join(', ');
}

function renderOne({ known, unknown, ...project }: ProjectCoverage): string {
  const spans = (intervals: Interval[]) => intervals.map(({ from, to }) => (from === to ? from : `${from}  to  ${to}`));
  const gaps = unknown.map((gap, index) => `  ${spans(unknown)[index]}  ${gapReasons[gap.reason]}`);
  return joined([
    `Project ${project.project_id} of ${project.organization_id} at ${project.control_plane}${project.gone_at === null ? '' : `, gone since ${project.gone_at}`}.`,
    known.length > 0 ? 'Covered completely:' : 'No interval is covered completely.',
    ...spans(known).map((span) => `  ${span}`),
    gaps.length > 0 && 'Gaps:',
    ...gaps,
  ]);
}
