import { createDayHasher, type HashedDay, readDroppedMonth, readSeal, type Seal } from '@keywarden/core/ledger';
import { z } from 'zod';
import type { Archive } from './archive.ts';
import { type Judge, judgeReceipt, type Verdict } from './verdict.ts';

const filePart = z.object({ file: z.string(), records: z.int(), sha256: z.string() });
const manifestSchema = z.object({
  kind: z.literal('sealed-operations'),
  from: z.iso.date(),
  to: z.iso.date(),
  retention: filePart,
  projects: z.array(z.object({ project: z.string(), seals: filePart, operations: filePart })),
});
type Part = z.output<typeof manifestSchema>['projects'][number];

const dayMs = 86_400_000;

/**
 * Checks an archive of operations with the receipts of their seals: each day of each project, computed from its rows, against what the ledger sealed. The
 * manifest only says what the archive claims to have.
 */
export async function verifyOperations(archive: Archive, manifest: unknown, judge: Judge): Promise<Verdict> {
  const read = manifestSchema.safeParse(manifest);
  const verdict: Verdict = { proven: [], unproven: [], wrong: [] };
  if (!read.success) return { ...verdict, wrong: ['its manifest.json has an unknown form'] };
  const { from, to, projects, retention } = read.data;
  if (!(from < to)) return { ...verdict, wrong: ['its period has no day'] };
  if (new Set(projects.map(({ project }) => project)).size < projects.length)
    return { ...verdict, wrong: ['its manifest.json has a project twice'] };
  const names = [
    'manifest.json',
    'VERIFY.md',
    retention.file,
    ...projects.flatMap(({ seals, operations }) => [seals.file, operations.file]),
  ];
  for (const name of archive.names) if (!names.includes(name)) verdict.wrong.push(`${name} is not in manifest.json`);
  const dropped = new Set<string>();
  await archive.eachLine(retention.file, (line) => {
    const month = droppedMonthOf(line, judge);
    if (month === null) verdict.wrong.push(`a line of ${retention.file} proves no month that retention has dropped`);
    else dropped.add(month);
  });
  if (projects.length === 0) verdict.unproven.push('it has no project');
  for (const part of projects) await verifyProject(archive, { part, from, to, dropped, judge, verdict });
  return verdict;
}

interface Asked {
  part: Part;
  from: string;
  to: string;
  /** The months that retention has dropped. */
  dropped: Set<string>;
  judge: Judge;
  verdict: Verdict;
}

async function verifyProject(archive: Archive, { part, from, to, dropped, judge, verdict }: Asked): Promise<void> {
  const { project } = part;
  const fail = (why: string) => void verdict.wrong.push(`${project}: ${why}`);
  const seals = new Map<string, Seal>();
  await archive.eachLine(part.seals.file, (line) => {
    const seal = sealOf(line, judge);
    if (typeof seal === 'string') fail(seal);
    else if (seal.project !== project) fail(`the seal of ${seal.day} is of ${seal.project}`);
    else if (seals.has(seal.day)) fail(`it has two seals of ${seal.day}`);
    else seals.set(seal.day, seal);
  });
  const days = await hashDays(archive, part).catch((error: unknown) => {
    fail(error instanceof Error ? error.message : String(error));
    return null;
  });
  if (days === null) return;
  let [proven, operations] = [0, 0];
  const unsealed: string[] = [];
  const gone: string[] = [];
  for (let at = Date.parse(from); at < Date.parse(to); at += dayMs) {
    const day = new Date(at).toISOString().slice(0, 10);
    const seal = seals.get(day);
    const found = days.get(day) ?? { operations: 0, root: emptyRoot };
    days.delete(day);
    if (seal === undefined) unsealed.push(day);
    else if (found.operations === 0 && seal.operations > 0 && dropped.has(day.slice(0, 'YYYY-MM'.length)))
      gone.push(day);
    else if (seal.root !== found.root || seal.operations !== found.operations)
      fail(`its ${found.operations} operations of ${day} are not the ${seal.operations} that were sealed`);
    else {
      proven += 1;
      operations += found.operations;
      for (const { from: since, to: until, reason } of seal.gaps)
        verdict.unproven.push(
          `${project}: the archive did not claim to have everything from ${since} to ${until} (${reason ?? 'unknown'})`,
        );
    }
  }
  for (const day of days.keys()) fail(`it has operations of ${day}, outside its period`);
  for (const days of inRanges(unsealed)) verdict.unproven.push(`${project}: ${days} has no seal`);
  for (const days of inRanges(gone))
    verdict.unproven.push(`${project}: retention has dropped the operations of ${days}`);
  if (proven > 0)
    verdict.proven.push(`${project}: ${operations} operations of ${proven} days are exactly those that were archived`);
}

function sealOf(line: string, judge: Judge): Seal | string {
  const receipt = readLine(line);
  if (receipt === null) return 'a line of its seals is no receipt';
  const proven = judgeReceipt(receipt, judge);
  if (typeof proven === 'string') return `a seal is not proven: ${proven}`;
  const seal = readSeal(proven);
  if (seal === null) return `a receipt is of ${proven.type}, not of a seal`;
  return Date.parse(seal.sealedAt) < Date.parse(seal.day) + dayMs ? `${seal.day} was sealed before it ended` : seal;
}

function droppedMonthOf(line: string, judge: Judge): string | null {
  const receipt = readLine(line);
  const proven = receipt === null ? 'it is no receipt' : judgeReceipt(receipt, judge);
  return typeof proven === 'string' ? null : readDroppedMonth(proven);
}

const lineSchema = z.strictObject({ receipt: z.string() });

/** Returns the receipt of a line; null for any other line. */
export function readLine(line: string): string | null {
  try {
    return lineSchema.parse(JSON.parse(line)).receipt;
  } catch {
    return null;
  }
}

const emptyRoot = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

async function hashDays(archive: Archive, { project, operations }: Part): Promise<Map<string, HashedDay>> {
  const hasher = createDayHasher(project.slice(project.lastIndexOf(' ') + 1));
  await archive.eachLine(operations.file, (line) => hasher.add(line));
  return hasher.end();
}

/** Returns days in words, those in a row as a range. */
function inRanges(days: string[]): string[] {
  const ranges: { from: string; to: string }[] = [];
  for (const day of days) {
    const last = ranges.at(-1);
    if (last !== undefined && Date.parse(day) - Date.parse(last.to) === dayMs) last.to = day;
    else ranges.push({ from: day, to: day });
  }
  return ranges.map(({ from, to }) => (from === to ? from : `${from} to ${to}`));
}
