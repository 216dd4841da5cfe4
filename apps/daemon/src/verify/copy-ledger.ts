import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readBytes } from '@keywarden/core/client';
import {
  type Checkpoint,
  parseCheckpoint,
  type TileLevel,
  tilePath,
  unpackContents,
  unpackEntries,
} from '@keywarden/core/ledger';
import { codeOf, UserError, usageError } from '@keywarden/runtime';
import { eachAtOnce } from '../sync/run.ts';

const tileWidth = 256;
const hashSize = 32;
const timeoutMs = 60_000;
const attempts = 6;
/** In bytes. A bundle has 256 contents; that of a plan's policy is the longest. */
const longestAnswer = 100_000_000;

/** Where a ledger is copied from, and with what. */
export interface LedgerSource {
  /** The address of a report. */
  report: string;
  /** A token of role auditor. */
  token: string;
  allowsHttp: boolean;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  signal: AbortSignal;
}

/** A copy of a ledger, as its checkpoint claims it: nothing is checked yet. */
export interface LedgerCopy {
  origin: string;
  size: number;
  /** Events that the folder did not have before. */
  added: number;
}

/**
 * Downloads the ledger of a report into a folder (c2sp.org/tlog-tiles), or what an earlier copy there lacks. The earlier checkpoint stays beside the new one,
 * so that `verify` compares them. The new checkpoint is written last: a copy that was interrupted is continued. Throws a UserError if the report does not
 * answer with a ledger, or with less than the folder has.
 */
export async function copyLedger(source: LedgerSource, folder: string): Promise<LedgerCopy> {
  const base = readAddress(source);
  const get = async (path: string) => await download(source, `${base}/ledger/${path}`);
  const file = join(folder, 'checkpoint');
  const earlier = existsSync(file) ? readEarlier(file) : null;
  const note = Buffer.from(await get('checkpoint')).toString();
  const newest = parseCheckpoint(note);
  if (newest === null) throw unusable(`${base}/ledger/checkpoint is no checkpoint of a ledger`);
  if (earlier !== null && (earlier.origin !== newest.origin || earlier.size > newest.size))
    throw unusable(
      `The folder has ${earlier.size} events of the ledger ${earlier.origin}, and the report has ${newest.size} of ${newest.origin}. Keep the folder, and ask the operator why; copy into another folder`,
    );
  await eachAtOnce(tilesOfTree(newest.size), async ({ level, index, width }) => {
    const path = tilePath({ level, index, width });
    if (existsSync(join(folder, path))) return;
    const bytes = await get(path);
    if (countOf(level, bytes) !== width) throw unusable(`${base}/ledger/${path} is cut`);
    writeWhole(join(folder, path), bytes);
  });
  if (earlier !== null && earlier.size < newest.size) renameSync(file, join(folder, `checkpoint.${earlier.size}`));
  writeWhole(file, Buffer.from(note));
  return { origin: newest.origin, size: newest.size, added: newest.size - (earlier?.size ?? 0) };
}

/** Returns the address without a slash at its end. A token must not cross the network in clear text. */
function readAddress({ report, allowsHttp }: LedgerSource): string {
  const isLocal = URL.canParse(report) && ['127.0.0.1', '[::1]', 'localhost'].includes(new URL(report).hostname);
  const isHttp = URL.canParse(report) && ['http:', 'https:'].includes(new URL(report).protocol);
  if (!isHttp) throw usageError(`"${report}" is no address of a report; pass one such as https://keywarden.example.`);
  if (!report.startsWith('https://') && !allowsHttp && !isLocal)
    throw usageError(
      'The address of the report begins with http:// and is not on this machine, so the token would cross the network in clear text: use https://, or set ALLOW_HTTP=1.',
    );
  return report.replace(/\/+$/, '');
}

function readEarlier(file: string): Checkpoint {
  const checkpoint = parseCheckpoint(readFileSync(file, 'utf8'));
  if (checkpoint === null)
    throw usageError(`${file} is no checkpoint of a ledger; name a new folder, or one with a copy.`);
  return checkpoint;
}

/** Lists the bundles and tiles of a tree, with what each has of it. */
function tilesOfTree(size: number): { level: TileLevel; index: number; width: number }[] {
  const row = (level: TileLevel, count: number) =>
    Array.from({ length: Math.ceil(count / tileWidth) }, (_, index) => ({
      level,
      index,
      width: Math.min(tileWidth, count - index * tileWidth),
    }));
  const tiles = [...row('entries', size), ...row('contents', size)];
  // Each level has a hash of each whole tile below.
  for (let [level, count] = [0, size]; count > 0; level += 1, count = Math.floor(count / tileWidth))
    tiles.push(...row(level, count));
  return tiles;
}

/** Returns how many entries, contents or hashes a file has; null if it is cut. */
function countOf(level: TileLevel, bytes: Uint8Array): number | null {
  if (level === 'entries') return unpackEntries(bytes)?.length ?? null;
  if (level === 'contents') return unpackContents(Buffer.from(bytes).toString())?.length ?? null;
  return bytes.length / hashSize;
}

/** Writes a file that is there whole or not at all. */
function writeWhole(file: string, bytes: Uint8Array): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.partial`, bytes, { flush: true });
  renameSync(`${file}.partial`, file);
}

async function download({ token, fetch, sleep, signal }: LedgerSource, url: string): Promise<Uint8Array> {
  for (let attempt = 1; ; attempt += 1) {
    let why: string;
    let waitMs = 500 * 2 ** attempt;
    try {
      const response = await fetch(url, {
        headers: { authorization: `Bearer ${token}` },
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const body = await readBytes(response, longestAnswer);
      if (response.status === 200) return body;
      why = `answers ${response.status}`;
      if (response.status === 401) throw unusable(`${url} refuses the token; set REPORT_TOKEN to one that is valid`);
      if (response.status === 403)
        throw unusable(`${url} needs a token of role auditor that is not limited to organizations`);
      if (response.status === 404)
        throw unusable(`${url} is not there; pass the address of a report that has a signed ledger`);
      if (response.status < 500 && response.status !== 429) throw unusable(`${url} ${why}`);
      waitMs = Math.max(waitMs, Number(response.headers.get('retry-after') ?? 0) * 1000);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof UserError) throw error;
      why = `does not answer (${codeOf(error)})`;
    }
    if (attempt === attempts) throw unusable(`${url} ${why}`);
    await sleep(waitMs, signal);
  }
}

const unusable = (sentence: string) => new UserError('incomplete', `${sentence}. What was copied stays.`);
