import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ControlPlaneError, readBytes, readRetryAfterMs } from '@keywarden/core/client';
import * as ledger from '@keywarden/core/ledger';
import { codeOf, isBareUrl, isLoopback, makeFolder, UserError, usageError } from '@keywarden/runtime';
import { holdFolder } from '../../hold-folder.ts';
import { eachAtOnce } from '../../sync/run.ts';
import { openSigned, type Verdict, type VerifyOptions } from '../verdict.ts';
import { openCheckpoint, verifyCopy, widthOf } from './ledger-copy.ts';

const timeoutMs = 60_000;
const attempts = 6;
/** In bytes. A bundle has 256 contents; that of a plan's policy is the longest. */
const longestAnswer = 100_000_000;

/** Where a ledger is copied from, and with what. */
export interface LedgerSource {
  report: string;
  /** A token of role auditor. */
  token: string;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  signal: AbortSignal;
}

/** A source, and the time at which the command began, in ms. */
type Download = LedgerSource & Pick<VerifyOptions, 'nowMs'>;

/** A copy of a ledger that nothing contradicts. */
export interface LedgerCopy {
  origin: string;
  size: number;
  /** Events that the folder did not have before. */
  added: number;
  verdict: Verdict;
}

/**
 * Downloads the ledger of a report into a folder (c2sp.org/tlog-tiles), or what an earlier copy there lacks, and verifies the whole. Only then it replaces the
 * checkpoint; the earlier one stays beside it. A copy that was interrupted is continued. One process works in a folder at a time. Throws a UserError if the
 * report does not answer with a ledger of these keys, or with one that does not continue what the folder has.
 */
export async function copyLedger(source: LedgerSource, folder: string, options: VerifyOptions): Promise<LedgerCopy> {
  const base = readAddress(source.report);
  const work = join(folder, '.copy');
  try {
    makeFolder(work);
  } catch (error) {
    throw usageError(`${folder} cannot be written (${codeOf(error)}); name another folder.`);
  }
  const release = holdFolder(work, `Another process copies a ledger into ${folder}; wait for it.`);
  try {
    const get = async (path: string) => await download({ ...source, nowMs: options.nowMs }, `${base}/${path}`);
    for (const name of readdirSync(work)) if (name.startsWith('new-')) rmSync(join(work, name));
    return await copyInto({ folder, work, options, get });
  } finally {
    release();
  }
}

interface Copying {
  folder: string;
  /** A folder in it for what is not whole yet. */
  work: string;
  options: VerifyOptions;
  /** Downloads a path of the log. */
  get: (path: string) => Promise<Uint8Array>;
}

async function copyInto({ folder, work, options, get }: Copying): Promise<LedgerCopy> {
  const file = join(folder, 'checkpoint');
  const note = Buffer.from(await get('checkpoint')).toString();
  const newest = openSigned(note, options);
  if (typeof newest === 'string') throw new UserError('incomplete', `The checkpoint of the report ${newest}.`);
  const earlier = existsSync(file) ? openCheckpoint(file, options) : null;
  if (typeof earlier === 'string')
    throw usageError(
      `${file} ${earlier}${earlier === ledger.otherKey ? '' : '; name a new folder, or one with a copy of this ledger'}.`,
    );
  if (earlier !== null) assertLater({ earlier, newest }, { note, folder });
  let files = 0;
  await eachAtOnce(listTiles(newest.size), async (tile) => {
    const path = ledger.tilePath(tile);
    if (existsSync(join(folder, path))) return;
    const bytes = await get(path);
    if (widthOf(tile.level, bytes) !== tile.width) throw notAnswering(`${path} of the report is cut`);
    // A file is there whole or not at all.
    const partial = join(work, `new-${(files += 1)}`);
    writeFileSync(partial, bytes, { flush: true });
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    renameSync(partial, join(folder, path));
  });
  const place = join(work, 'new-checkpoint');
  writeFileSync(place, note, { flush: true });
  const { verdict } = verifyCopy(folder, options, [], place);
  const [mistake] = verdict.wrong;
  if (mistake !== undefined)
    throw new UserError(
      'incomplete',
      `The copy is not the ledger that its checkpoint signs: ${mistake}. Delete ${join(folder, 'tile')}, and copy again. If that changes nothing, keep the folder, and ask the operator why.`,
    );
  // One that is there already is of the same tree: it was verified with the copy.
  const kept = join(folder, `checkpoint.${earlier?.size}`);
  if (earlier !== null && earlier.size < newest.size && !existsSync(kept)) copyFileSync(file, kept);
  // Of one tree, the checkpoint with more cosignatures stays.
  if (earlier === null || earlier.size < newest.size || earlier.witnesses.length <= newest.witnesses.length)
    renameSync(place, file);
  else rmSync(place);
  return { origin: newest.origin, size: newest.size, added: newest.size - (earlier?.size ?? 0), verdict };
}

/** Throws a UserError for a checkpoint of less than the folder has, or of another tree. Two signed trees of one size prove a fork: both stay in the folder. */
function assertLater(
  { earlier, newest }: Record<'earlier' | 'newest', ledger.Checkpoint>,
  { note, folder }: Record<'note' | 'folder', string>,
): void {
  if (earlier.origin !== newest.origin || earlier.size > newest.size)
    throw new UserError(
      'incomplete',
      `The folder has ${earlier.size} events of the ledger ${earlier.origin}, and the report has ${newest.size} of ${newest.origin}. Keep the folder, and ask the operator why.`,
    );
  if (earlier.size === newest.size && !ledger.isSameHash(earlier.root, newest.root)) {
    writeFileSync(join(folder, `checkpoint.${newest.size}.other`), note);
    throw new UserError(
      'incomplete',
      `The key of the ledger has signed two trees of ${newest.size} events. Keep the folder, which has both checkpoints, and ask the operator why.`,
    );
  }
}

/** Returns the address of the log. A token must not cross the network in clear text. */
function readAddress(report: string): string {
  const url = isBareUrl(report) ? new URL(report) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw usageError('The first argument is no address of a report; pass one such as https://keywarden.example.');
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw usageError(
      'The report is not on this machine, and the token would cross the network in clear text: use https://.',
    );
  return `${url.href.replace(/\/+$/, '')}/ledger`;
}

function* listTiles(size: number): Generator<ledger.NamedTile, undefined> {
  yield* listRow('entries', size);
  yield* listRow('contents', size);
  // Each level has a hash of each whole tile below.
  for (let [level, count] = [0, size]; count > 0; level += 1, count = Math.floor(count / ledger.tileWidth))
    yield* listRow(level, count);
}

function* listRow(level: ledger.TileLevel, count: number): Generator<ledger.NamedTile, undefined> {
  for (let index = 0; index * ledger.tileWidth < count; index += 1)
    yield { level, index, width: Math.min(ledger.tileWidth, count - index * ledger.tileWidth) };
}

async function download({ token, fetch, sleep, signal, nowMs }: Download, url: string): Promise<Uint8Array> {
  for (let attempt = 1; ; attempt += 1) {
    let why: string;
    let waitMs = 500 * 2 ** attempt;
    try {
      const response = await fetch(url, {
        headers: { authorization: `Bearer ${token}` },
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const { status, headers } = response;
      const refusal = refusals[status];
      if (refusal !== undefined) throw new UserError('incomplete', `${url} ${refusal}.`);
      const body = await readBytes(response, longestAnswer);
      if (status === 200) return body;
      why = `answers ${status}`;
      if (status < 500 && status !== 429) throw notAnswering(`${url} ${why}`);
      const sentMs = Date.parse(headers.get('date') ?? '') || nowMs;
      waitMs = Math.max(waitMs, readRetryAfterMs(headers.get('retry-after'), sentMs));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof UserError) throw error;
      if (error instanceof ControlPlaneError) throw notAnswering(`${url}: ${error.message}`);
      why = `does not answer (${codeOf(error)})`;
    }
    if (attempt === attempts) throw notAnswering(`${url} ${why}`);
    await sleep(waitMs, signal);
  }
}

const refusals: Record<number, string> = {
  401: 'refuses the token; set AUDITOR_TOKEN to one that is valid',
  403: 'needs a token of role auditor that is not limited to organizations',
  404: 'is not there; pass the address of a report that has a signed ledger',
};

const notAnswering = (sentence: string) =>
  new UserError('incomplete', `${sentence}. What was copied stays; run the command again to continue.`);
