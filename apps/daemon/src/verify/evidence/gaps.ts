import { gapSettlingMs, mostGapsListed } from '@keywarden/core/ledger';
import { before, compareInstants, countOf, isInstant, sha256 } from '@keywarden/core/values';
import { z } from 'zod';
import type { Archive } from '../archive.ts';
import { parseOnce } from '../json.ts';
import { sealOf } from '../receipt-lines.ts';
import { addSentence, DamagedFile, type ReceiptChecker, type Verdict } from '../verdict.ts';
import type { Period } from './sources.ts';

// The gaps of operations in an evidence archive, compared with those in the newest seals.

export const sealedGapsFile = 'ledger/seals-with-gaps.ndjson';
export const gapsFile = 'not-seen/operation-holes.ndjson';
export const coverageFile = 'coverage/operations.ndjson';
export const historyTable = /-operation_history\.ndjson$/;

const instant = z.string().refine(isInstant);
const interval = z.object({ from: instant, to: instant });
type Interval = z.output<typeof interval>;
type SealedGap = Interval & { reason: string | undefined };

/** The gaps of the newest seals, by project: the control plane's address, a space and the id. */
export interface SealedGaps {
  gaps: Map<string, SealedGap[]>;
  /** The place in the ledger of each seal: by the project, a space and the day. */
  seals: Map<string, number>;
}

/** Reads the receipts of the newest seals that have gaps. An archive with receipts has the file, even if there are none. */
export async function readSealedGaps(
  archive: Archive,
  receipts: ReceiptChecker,
  verdict: Verdict,
): Promise<SealedGaps> {
  const sealed: SealedGaps = { gaps: new Map(), seals: new Map() };
  if (!archive.names.includes(sealedGapsFile)) {
    if (receipts.head() !== null) addSentence(verdict.wrong, `it has no ${sealedGapsFile}`);
    return sealed;
  }
  await archive.eachLine(sealedGapsFile, (line) => {
    const read = sealOf(line, receipts);
    if (typeof read === 'string') {
      addSentence(verdict.wrong, `a line of ${sealedGapsFile} is not proven: ${read}`);
      return;
    }
    const { seal, index } = read;
    const name = `${seal.project} ${seal.day}`;
    if (sealed.seals.has(name)) addSentence(verdict.wrong, `${sealedGapsFile} has two seals of ${name}`);
    sealed.seals.set(name, index);
    const gaps = sealed.gaps.get(seal.project) ?? [];
    gaps.push(...seal.gaps.map(({ from, to, reason }) => ({ from, to, reason })));
    sealed.gaps.set(seal.project, gaps);
  });
  return sealed;
}

const gapSchema = z.object({ control_plane: z.string(), project_id: z.string(), ...interval.shape });
const coverageSchema = z.object({
  control_plane: z.string(),
  project_id: z.string(),
  known: z.array(interval),
  unknown: z.array(interval),
});

interface Gaps {
  file: string;
  sealed: SealedGaps;
  verdict: Verdict;
  /** What no event in the archive proves. */
  computed: string[];
}

/** Looks for the sealed gaps of a period in a file of gaps. */
export async function compareGaps(archive: Archive, { period, ...request }: Gaps & { period: Period }): Promise<void> {
  const named: NamedGaps = new Set();
  const lines = new Set<string>();
  await archive.eachLine(request.file, (line) => {
    const gap = gapSchema.parse(parseOnce(line));
    const hash = sha256(line);
    if (lines.has(hash)) addSentence(request.verdict.wrong, `${request.file}: it has a line twice`);
    lines.add(hash);
    if (lines.size > mostGapsListed) throw new DamagedFile(`${request.file} has more lines than such files have`);
    addOf(named, gap, [gap], request.sealed);
  });
  addMissing(named, {
    ...request,
    isCut: lines.size === mostGapsListed,
    when: ` from ${period.from} to ${period.to}`,
    isDue: (gap) => isOfPeriod(gap, period),
  });
}

/** Looks for the sealed gaps of each project in its row of the coverage, which must not claim a time of them. */
export async function compareCoverage(archive: Archive, request: Gaps): Promise<void> {
  const named: NamedGaps = new Set();
  const projects = new Set<string>();
  await archive.eachLine(request.file, (line) => {
    const row = coverageSchema.parse(parseOnce(line));
    const name = `${row.control_plane} ${row.project_id}`;
    const project = sha256(name);
    if (projects.has(project)) addSentence(request.verdict.wrong, `${request.file}: it has a project twice`);
    projects.add(project);
    addOf(named, row, row.unknown, request.sealed);
    for (const gap of request.sealed.gaps.get(name) ?? [])
      if (row.known.some((each) => overlap(each, gap)))
        addSentence(request.verdict.wrong, `${request.file}: it claims a time of the gap of ${name} ${timesOf(gap)}`);
  });
  addMissing(named, { ...request, isCut: false, when: '', isDue: () => true });
}

/** Names the files of gaps that an archive with receipts lacks. Only some controls have a list of gaps. */
export function addMissingFiles(
  period: Period,
  { names, sealed, verdict }: { names: Set<string>; sealed: SealedGaps; verdict: Verdict },
): void {
  if (!names.has(coverageFile)) addSentence(verdict.wrong, `it has no ${coverageFile}`);
  if (names.has(gapsFile)) return;
  const due = [...sealed.gaps.values()].flat().filter((gap) => isOfPeriod(gap, period));
  if ([...names].some((name) => historyTable.test(name))) addSentence(verdict.wrong, `it has no ${gapsFile}`);
  else if (due.length > 0)
    addSentence(
      verdict.unproven,
      `it has no ${gapsFile}, although its seals name ${countOf(due.length, 'gap')} in the period`,
    );
}

/** Returns whether a list of the gaps of a period must have a sealed gap. It leaves out a gap that a later walk may fill: one that began shortly before the end. */
function isOfPeriod({ from, to, reason }: SealedGap, period: Period): boolean {
  const settled = before(period.to, gapSettlingMs);
  return (
    compareInstants(to, period.from) > 0 &&
    compareInstants(from, period.to) < 0 &&
    (reason !== 'recent' || compareInstants(from, settled) <= 0)
  );
}

const overlap = (one: Interval, other: Interval) =>
  compareInstants(one.from, other.to) < 0 && compareInstants(other.from, one.to) < 0;

const timesOf = ({ from, to }: Interval) => `from ${from} to ${to}, which was sealed`;

/** The sealed gaps that a file has: not what it has beside them, which can be any number. */
type NamedGaps = Set<SealedGap>;

/** Adds the sealed gaps of a project that are within some intervals. */
function addOf(
  named: NamedGaps,
  of: { control_plane: string; project_id: string },
  intervals: Interval[],
  { gaps }: SealedGaps,
): void {
  for (const gap of gaps.get(`${of.control_plane} ${of.project_id}`) ?? [])
    if (intervals.some((each) => compareInstants(each.from, gap.from) <= 0 && compareInstants(each.to, gap.to) >= 0))
      named.add(gap);
}

function addMissing(
  named: NamedGaps,
  {
    file,
    sealed,
    verdict: { proven, unproven, wrong },
    computed,
    isCut,
    when,
    isDue,
  }: Gaps & { isCut: boolean; when: string; isDue: (gap: SealedGap) => boolean },
): void {
  let [found, lacking] = [0, 0];
  for (const [project, gaps] of sealed.gaps) {
    for (const gap of gaps.filter(isDue))
      if (named.has(gap)) found += 1;
      else {
        lacking += 1;
        addSentence(isCut ? unproven : wrong, `${file}: it lacks the gap of ${project} ${timesOf(gap)}`);
      }
  }
  if (found === 0 && lacking === 0) addSentence(computed, `${file}: the seals of the archive name no gap${when}`);
  else if (lacking === 0)
    proven.push(`${file}: it has each of the ${found} gaps that the seals of the archive name${when}`);
}
