import * as ledger from '@keywarden/core/ledger';
import { sha256 } from '@keywarden/core/values';
import { createLateTimes } from '../late-times.ts';
import {
  type ArchiveResult,
  addSentence,
  type SealedDays,
  type SignedHead,
  type Signers,
  type Verdict,
} from '../verdict.ts';

// What a copy of a ledger says about the archives beside it: the entries and contents of its events, read in their order.

/** A receipt or an archive that is compared with a copy. */
export type Beside = { file: string; head: SignedHead } & Pick<
  ArchiveResult,
  'seals' | 'events' | 'sealedDays' | 'leaves'
>;

/** Looks for events for which an archive has no receipt, and for events that were recorded long before an earlier one. */
export function createEntryReader(beside: Beside[], nowMs: number) {
  const left: { file: string; event: string }[] = [];
  const order = ledger.createTimeOrder({ nowMs });
  const misplaced: number[] = [];
  const others: { file: string; index: number }[] = [];
  const times = createLateTimes();
  return {
    read(at: number, entries: Uint8Array[]): void {
      for (const [place, entry] of entries.entries()) {
        const leaf = ledger.readLeaf(Buffer.from(entry).toString());
        const { type, subject, recorded } = leaf ?? {};
        const index = at + place;
        const isInEvidence = !ledger.leftOutOfEvidence.includes(String(type));
        for (const { file, leaves } of beside) {
          const leafOfReceipt = leaves?.get(index);
          if (leafOfReceipt !== undefined && leafOfReceipt !== sha256(Buffer.from(entry).toString()))
            others.push({ file, index });
        }
        for (const { file, head, events } of beside)
          if (events !== undefined && index < head.size && isInEvidence && !events.has(index))
            left.push({ file, event: `${String(type)} of ${String(subject)}, event ${index}` });
        if (order.contradicts(recorded)) misplaced.push(index);
        if (leaf !== null) times.read({ index, ...leaf });
      }
    },
    /** When the newest of the events was recorded, in ms. */
    latestMs: order.latestMs,
    addConclusions(verdict: Verdict): void {
      const { proven, unproven, wrong: mistakes } = verdict;
      for (const { file, index } of others)
        addSentence(
          mistakes,
          `${file}: its event ${index} is another one than that of the copy: the ledger has two histories`,
        );
      for (const { file, event } of left) addSentence(mistakes, `${file}: it has no receipt of ${event}`);
      for (const { file, events } of beside)
        if (events !== undefined && !left.some((each) => each.file === file))
          addSentence(proven, `${file}: it has the receipts of all events of its tree but seals and exports`);
      if (misplaced.length > 0)
        addSentence(
          unproven,
          `the times of some events: ${misplaced.length} were recorded more than an hour before an earlier event, or in the future, first event ${misplaced[0]}`,
        );
      times.addConclusions(verdict);
    },
  };
}

/** Reads the contents of entries, and looks for seals that are newer than those of archives. */
export function createContentReader(
  readOf: (path: string) => Buffer | null,
  { size, signers: { signedBy, hasOthers }, archives }: { size: number; signers: Signers; archives: Beside[] },
) {
  const withSeals = archives.filter(({ sealedDays }) => sealedDays !== undefined);
  /** For each archive: the days whose newest seal of its tree it should have, and does not. */
  const leftOut = new Map(withSeals.map(({ file }) => [file, new Set<string>()]));
  let missing = 0;
  const chains = createChains();
  const signers = createSigners();
  const fewer: string[] = [];
  const unlinked = new Map<string, number>();
  /** The places of events that say they are seals, and have another form. */
  const falseSeals: number[] = [];
  const found: { file: string; seal: string; isOlder: boolean }[] = [];
  const readSeal = (seal: ledger.Seal, index: number): void => {
    const name = `${seal.project} ${seal.day}`;
    const sealedAgain = `${seal.project}: ${seal.day} was sealed again at ${seal.sealedAt}`;
    const lost = chains.lostBy(seal);
    if (lost > 0) fewer.push(`${sealedAgain} with ${lost} operations less, event ${index}`);
    if (!chains.follows(seal) && missing === 0) unlinked.set(name, index);
    for (const { file, head, seals, sealedDays } of withSeals) {
      const own = seals.get(name);
      const isOlder = index < head.size;
      if (own === undefined && isOlder)
        if (isDue(seal, sealedDays)) leftOut.get(file)?.add(name);
        else leftOut.get(file)?.delete(name);
      if (own !== undefined && index > own) found.push({ file, seal: `${sealedAgain}, event ${index}`, isOlder });
    }
  };
  return {
    /** Compares a bundle of contents with its entries. Returns what is wrong with it; null if nothing is, or the copy does not have it. */
    read(at: number, entries: Uint8Array[]): string | null {
      const path = ledger.tilePath({ level: 'contents', index: at / ledger.tileWidth, width: entries.length });
      const bundle = readOf(path);
      if (bundle === null) {
        missing += entries.length;
        return null;
      }
      const contents = ledger.unpackContents(bundle.toString());
      if (contents?.length !== entries.length) return `${path} is cut`;
      for (const [place, content] of contents.entries()) {
        const event = ledger.readLogged({ leaf: Buffer.from(entries[place] ?? []).toString(), content });
        if (typeof event === 'string') return `${path} has other contents than its entries`;
        signers.read(event);
        const month = ledger.readDroppedMonth(event);
        if (month !== null) chains.dropMonth(month);
        const seal = ledger.readSeal(event);
        if (seal !== null) readSeal(seal, at + place);
        else if (event.type === 'archive.sealed') falseSeals.push(at + place);
      }
      return null;
    },
    addConclusions({ proven, unproven, wrong: mistakes }: Verdict): void {
      if (signedBy.length > 0 && signedBy.every((each) => signers.hasEnded(each)))
        addSentence(
          hasOthers ? unproven : mistakes,
          'its checkpoint is signed with a given key that had ended, as its own events say',
        );
      for (const each of fewer) addSentence(unproven, each);
      for (const index of falseSeals) addSentence(unproven, `event ${index} is no seal: what it says has another form`);
      for (const [day, index] of unlinked) {
        const why = `event ${index} is a seal of ${day} that does not follow the seal before: the day has two histories`;
        addSentence(unproven, why);
        for (const { file, seals } of withSeals) if (seals.has(day)) addSentence(mistakes, `${file}: ${why}`);
      }
      for (const { file, seal, isOlder } of found)
        addSentence(
          isOlder ? mistakes : unproven,
          `${file}: ${isOlder ? 'it has an older seal than the newest' : 'since then'}: ${seal}`,
        );
      for (const [file, days] of leftOut)
        for (const day of days)
          addSentence(
            unproven,
            `${file}: it leaves out the seal of ${day}; its maker must show that the day waited to be sealed again, or that its newest seal was not signed yet`,
          );
      if (missing > 0)
        addSentence(
          unproven,
          `what ${missing} events say: the copy does not have their contents, so their seals are not compared`,
        );
      for (const { file } of withSeals)
        if (missing > 0)
          addSentence(
            unproven,
            `${file}: a newer seal may be among the ${missing} events whose contents the copy does not have`,
          );
        else if (falseSeals.length === 0 && !found.some((each) => each.file === file) && leftOut.get(file)?.size === 0)
          addSentence(proven, `${file}: none of its days has a newer seal, up to event ${size - 1}`);
    },
  };
}

/** Follows the seals of each day, which name each other: a project has one history. */
function createChains() {
  const newest = new Map<string, Map<string, Pick<ledger.Seal, 'number' | 'operations'>>>();
  return {
    /** Notes that retention has dropped a month: its days may have fewer operations from then on. */
    dropMonth(month: string): void {
      for (const days of newest.values())
        for (const [day, seal] of days) if (day.startsWith(month)) days.set(day, { ...seal, operations: 0 });
    },
    /** Returns how many operations fewer a seal has than the one before of its day. Call it before `follows`. */
    lostBy: ({ project, day, operations }: ledger.Seal): number =>
      (newest.get(project)?.get(day)?.operations ?? 0) - operations,
    /** Returns whether a seal names the one before of its day, of those that were passed on. */
    follows({ project, day, number, operations, replaces }: ledger.Seal): boolean {
      const days = newest.get(project) ?? new Map<string, Pick<ledger.Seal, 'number' | 'operations'>>();
      newest.set(project, days);
      const before = days.get(day)?.number ?? null;
      days.set(day, { number, operations });
      return replaces === before;
    },
  };
}

/** Follows which keys of the ledger have ended. */
function createSigners() {
  const keys = new Map<unknown, unknown>();
  const ended = new Set<unknown>();
  return {
    read({ type, content }: ledger.LoggedEvent): void {
      if (type === 'ledger.key_added') keys.set(content.number, content.public_key);
      if (type === 'ledger.key_ended' && typeof content.ended_at === 'string') ended.add(content.number);
    },
    /** Returns whether a public key, as text, has ended. */
    hasEnded: (key: string): boolean => [...keys].some(([number, text]) => text === key && ended.has(number)),
  };
}

function isDue({ project, day, gaps }: ledger.Seal, days: SealedDays | undefined): boolean {
  if (days === undefined || day < days.from || day > days.to) return false;
  return days.projects === 'with gaps' ? gaps.length > 0 : days.projects.has(project);
}
