import { createDayHasher, emptyRoot, type HashedDay, isVerifyPage, type Seal } from '@keywarden/core/ledger';
import { countOf, dayMs, dayOf, daysOf, monthOf } from '@keywarden/core/values';
import { z } from 'zod';
import type { Archive } from './archive.ts';
import { dropOf, sealOf } from './receipt-lines.ts';
import {
  type ArchiveResult,
  addHead,
  addSentence,
  createReceiptChecker,
  DamagedFile,
  damageInWords,
  type ReceiptChecker,
  type SignedHead,
  type Verdict,
  type VerifyOptions,
  withoutHead,
  wrong,
} from './verdict.ts';

const filePart = z.strictObject({ file: z.string(), records: z.int(), sha256: z.string() });
type FilePart = z.output<typeof filePart>;
const manifestSchema = z.strictObject({
  kind: z.literal('sealed-operations'),
  from: z.iso.date(),
  to: z.iso.date(),
  retention: filePart,
  projects: z.array(z.strictObject({ project: z.string(), seals: filePart, operations: filePart })),
});
type Manifest = z.output<typeof manifestSchema>;
type Part = Manifest['projects'][number];

/** No archive of ours is about a longer time; a forged one could have millions of days. */
const mostDays = 36_600;

/**
 * Checks an archive of operations with the receipts of their seals: each day of each project, computed from its rows, against what the ledger sealed. The
 * manifest only says what the archive claims to have.
 */
export async function verifyOperations(
  archive: Archive,
  given: unknown,
  options: VerifyOptions,
): Promise<ArchiveResult> {
  const read = manifestSchema.safeParse(given);
  if (!read.success) return withoutHead(wrong('its manifest.json has an unknown form'));
  const odd = findOddManifest(read.data);
  if (odd !== null) return withoutHead(wrong(odd));
  const verdict: Verdict = { proven: [], unproven: [], wrong: [] };
  const result = withoutHead(verdict);
  const { from, to, projects, retention } = read.data;
  const days = daysOf({ from, to });
  const names = new Set([
    'manifest.json',
    'VERIFY.md',
    retention.file,
    ...projects.flatMap(({ seals, operations }) => [seals.file, operations.file]),
  ]);
  for (const name of archive.names) if (!names.has(name)) addSentence(verdict.wrong, `${name} is not in manifest.json`);
  const receipts = createReceiptChecker(options);
  const drops = new Map<string, number>();
  await readPart(archive, retention, (line) => {
    const drop = dropOf(line, receipts);
    if (drop === null)
      addSentence(verdict.wrong, `a line of ${retention.file} proves no month that retention has dropped`);
    else {
      drops.set(drop.month, Math.max(drop.index, drops.get(drop.month) ?? -1));
      for (const each of drop.unproven) addSentence(verdict.unproven, each);
    }
  });
  if (projects.length === 0) verdict.unproven.push('it has no project');
  for (const part of projects) await verifyProject(archive, { part, days, drops, receipts, result });
  const head = receipts.head();
  if (head !== null) addHead(head, options, verdict);
  await checkVerifyPage(archive, head, verdict);
  const sealedDays = { from, to: days.at(-1) ?? from, projects: new Set(projects.map(({ project }) => project)) };
  return { ...result, head, sealedDays, leaves: receipts.leaves };
}

/** Compares VERIFY.md with those that Keywarden writes: a changed one could tell auditors to trust another key. No event records it. */
export async function checkVerifyPage(archive: Archive, head: SignedHead | null, verdict: Verdict): Promise<void> {
  if (!archive.names.includes('VERIFY.md')) return;
  if (head === null) addSentence(verdict.unproven, 'VERIFY.md: no receipt says which ledger it is about');
  else if (!isVerifyPage(await archive.text('VERIFY.md'), head.origin))
    addSentence(
      verdict.unproven,
      'its VERIFY.md, which is none that this version knows: do not follow it. A newer version wrote it, or somebody changed it',
    );
}

function findOddManifest({ from, to, retention, projects }: Manifest): string | null {
  if (!(from < to)) return 'its period has no day';
  if (Date.parse(to) - Date.parse(from) > mostDays * dayMs) return 'its period is longer than a century';
  const isNamed = projects.every(({ seals, operations }, index) => {
    const place = String(index + 1).padStart(5, '0');
    return seals.file === `seals/${place}.ndjson` && operations.file === `operations/${place}.ndjson`;
  });
  if (!isNamed || retention.file !== 'retention.ndjson')
    return 'its manifest.json names other files than such archives have';
  return new Set(projects.map(({ project }) => project)).size < projects.length
    ? 'its manifest.json has a project twice'
    : null;
}

/** Passes on each line of a file. Throws a DamagedFile if it is not the file that the manifest names. */
async function readPart(
  archive: Archive,
  { file, records, sha256 }: FilePart,
  use: (line: string) => void,
): Promise<void> {
  let lines = 0;
  const hash = await archive.eachLine(file, (line) => {
    lines += 1;
    use(line);
  });
  if (lines !== records || hash !== sha256) throw new DamagedFile(`${file} is not the file that manifest.json names`);
}

interface ProjectPart {
  part: Part;
  days: string[];
  /** The months that retention has dropped, each with the place of the newest drop in the ledger. */
  drops: Map<string, number>;
  receipts: ReceiptChecker;
  result: ArchiveResult;
}

async function verifyProject(archive: Archive, projectPart: ProjectPart): Promise<void> {
  const { part, days: requestedDays, drops, result } = projectPart;
  const { verdict } = result;
  const { project } = part;
  const fail = (why: string) => addSentence(verdict.wrong, `${project}: ${why}`);
  const markUnproven = (why: string) => addSentence(verdict.unproven, `${project}: ${why}`);
  const seals = await readSeals(archive, projectPart, fail);
  const days = await hashDays(archive, part, { seals, asked: new Set(requestedDays) }).catch((error: unknown) => {
    fail(damageInWords(error));
    return null;
  });
  if (days === null) return;
  let [proven, operations] = [0, 0];
  const unsealed: string[] = [];
  const gone: string[] = [];
  const sealedDays = [...seals.keys()].toSorted();
  const createdAt = seals.get(sealedDays[0] ?? '')?.createdAt ?? null;
  const isBefore = (day: string) => createdAt !== null && day < dayOf(createdAt) && !days.has(day);
  const lifetime = requestedDays.filter((day) => !isBefore(day));
  for (const day of lifetime) {
    const { newest: seal, index = 0 } = seals.get(day) ?? {};
    const found = days.get(day) ?? { operations: 0, root: emptyRootText };
    if (seal === undefined) unsealed.push(day);
    else if (found.operations === 0 && seal.operations > 0 && (drops.get(monthOf(day)) ?? -1) > index) gone.push(day);
    else if (seal.root !== found.root || seal.operations !== found.operations)
      fail(`its operations of ${day} (${found.operations}) are not those that were sealed (${seal.operations})`);
    else {
      proven += 1;
      operations += found.operations;
      for (const { from: since, to: until, reason } of seal.gaps)
        markUnproven(`the archive did not claim to have everything from ${since} to ${until} (${reason ?? 'unknown'})`);
      for (const { from: since, to: until } of seal.unclaimed)
        markUnproven(`the seal of ${day} says nothing about ${since} to ${until}`);
    }
  }
  const deletedAt = seals.get(sealedDays.at(-1) ?? '')?.newest.deletedAt ?? null;
  for (const range of inRanges(unsealed))
    markUnproven(
      deletedAt !== null && range > deletedAt
        ? `${range} has no seal: it was deleted at ${deletedAt}, and nothing here shows that it was not restored`
        : `${range} has no seal`,
    );
  for (const range of inRanges(gone)) markUnproven(`retention has dropped the operations of ${range}`);
  const of = proven === lifetime.length ? `all ${countOf(proven, 'day')}` : `${proven} of the ${lifetime.length} days`;
  if (proven > 0)
    verdict.proven.push(
      `${project}: ${countOf(operations, 'operation')} of ${of} from ${lifetime[0]} to ${lifetime.at(-1)}, exactly as archived`,
    );
  for (const range of inRanges(requestedDays.filter(isBefore)))
    verdict.proven.push(`${project}: it was created at ${createdAt}, after ${range}`);
}

/** The seals of one day, in the order of the ledger. */
interface DaySeals {
  first: Seal;
  newest: Seal;
  index: number;
  /** When the project was created, if all seals of the day say so from the first on: one that says so only later could hide the days before. */
  createdAt: string | null;
}

/**
 * Returns the newest seal of each day. A day that changed is sealed again, and its seals name each other. Those that are missing are unproven: the day may
 * have had other operations.
 */
async function readSeals(
  archive: Archive,
  { part, receipts, result }: ProjectPart,
  fail: (why: string) => void,
): Promise<Map<string, DaySeals>> {
  const days = new Map<string, DaySeals>();
  const { proven, unproven } = result.verdict;
  await readPart(archive, part.seals, (line) => {
    const read = sealOf(line, receipts);
    if (typeof read === 'string') {
      fail(read);
      return;
    }
    const { seal, index, isLate } = read;
    const before = days.get(seal.day);
    if (seal.project !== part.project) fail(`the seal of ${seal.day} is of ${seal.project}`);
    else if (before !== undefined && (index <= before.index || seal.replaces !== before.newest.number))
      fail(`the seals of ${seal.day} do not follow each other`);
    else {
      const isSaid = before === undefined ? seal.replaces === null : before.createdAt === seal.createdAt;
      days.set(seal.day, {
        first: before?.first ?? seal,
        newest: seal,
        index,
        createdAt: isSaid ? seal.createdAt : null,
      });
    }
    if (isLate)
      addSentence(unproven, `${part.project}: ${seal.day} was not recorded within an hour of the time of its seal`);
    // A day only gains operations, until retention drops its month.
    if (before !== undefined)
      addSentence(
        seal.operations < before.newest.operations ? unproven : proven,
        `${part.project}: ${seal.day} was sealed again at ${seal.sealedAt} with ${countOf(seal.operations, 'operation')}; before, it had ${before.newest.operations}`,
      );
  });
  for (const [day, { first, index }] of days) {
    result.seals.set(`${part.project} ${day}`, index);
    if (first.replaces !== null)
      addSentence(
        unproven,
        `${part.project}: ${day} was sealed before as seal ${first.replaces}, which the archive does not have`,
      );
  }
  return days;
}

const emptyRootText = Buffer.from(emptyRoot).toString('hex');

async function hashDays(
  archive: Archive,
  { project, operations }: Part,
  { seals, asked }: { seals: Map<string, DaySeals>; asked: Set<string> },
): Promise<Map<string, HashedDay>> {
  const hasher = createDayHasher(project.slice(project.lastIndexOf(' ') + 1), (day) =>
    asked.has(day) ? (seals.get(day)?.newest.operations ?? 0) : null,
  );
  await readPart(archive, operations, (line) => hasher.add(line));
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
