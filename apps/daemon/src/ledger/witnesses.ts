import { readBody } from '@keywarden/core/client';
import { encodeHash, openNote, parseVerifier, replaceSignature, type Verifier } from '@keywarden/core/ledger';
import * as db from '@keywarden/db/daemon';
import { codeOf, type Environment, isBareUrl, isLoopback, usageError } from '@keywarden/runtime';
import type { LedgerContext } from '../context.ts';

/** A witness that the ledger's checkpoints are sent to: its public key, and its address for submissions. */
export interface WitnessAddress {
  key: Verifier;
  url: string;
}

/** Returns the witnesses of LEDGER_WITNESSES: a public key and an address on each line. Throws a UserError for another form. */
export function readWitnesses({ LEDGER_WITNESSES, ALLOW_HTTP }: Pick<Environment, 'LEDGER_WITNESSES' | 'ALLOW_HTTP'>) {
  const lines = (LEDGER_WITNESSES ?? '').split('\n').filter((line) => line.trim() !== '');
  return lines.map((line): WitnessAddress => {
    const [text = '', url = '', ...rest] = line.trim().split(/\s+/);
    const key = parseVerifier(text);
    const isSafe = isBareUrl(url) && (url.startsWith('https://') || ALLOW_HTTP || isLoopback(new URL(url).hostname));
    if (key?.kind !== 'witness' || !isSafe || rest.length > 0)
      throw usageError(
        'A line of LEDGER_WITNESSES is not the public key of a witness, a space, and its https:// address without a user, query or fragment; fix it.',
      );
    return { key, url: url.replace(/\/$/, '') };
  });
}

const timeoutMs = 10_000;
/** In bytes. A cosignature with ML-DSA-44 has 3,300, and a witness may have several keys. */
const longestAnswer = 100_000;

/**
 * What a witness says about a checkpoint.
 * - passed: it has seen more events than the checkpoint has, and the store has a newer one by now.
 * - differs: it has seen another history.
 * - unknown: it does not know this ledger, or takes no checkpoint of this form.
 * - failed: it says nothing about it.
 */
type Said = { state: 'cosigned' } | { state: 'passed' | 'differs' | 'unknown' | 'failed'; why: string };

const hasCosigned: Said = { state: 'cosigned' };
const failed = (why: string): Said => ({ state: 'failed', why });

/**
 * Sends the newest checkpoint to each witness that has not cosigned it, with `again` to each one, and stores the cosignatures. A witness that has seen other
 * events, or more, opens an incident. Returns why witnesses did not cosign, as sentences.
 */
export async function askWitnesses(context: LedgerContext, { again = false } = {}): Promise<string[]> {
  const failures: string[] = [];
  for (const witness of readWitnesses(context.environment)) {
    const checkpoint = await db.readNewestCheckpoint(context.store.db);
    if (checkpoint === null) break;
    const cosigned = await readCosigned(context, witness.key);
    if (cosigned >= checkpoint.size && !again) continue;
    const said = await askWitness(context, { witness, cosigned, checkpoint });
    if (said.state === 'differs') await db.openLedgerIncident(context.store.db, said.why);
    if (said.state !== 'cosigned' && said.state !== 'passed') failures.push(said.why);
  }
  return failures;
}

/**
 * Asks the witnesses whether a checkpoint of the store is the last one that they have seen, whether or not they have cosigned it. A machine that remembers none
 * cannot know otherwise that its store was restored, or emptied. One witness that cosigns it is enough, if no other one has seen another history. Without
 * witnesses nothing says otherwise.
 */
export async function confirmCheckpoint(context: LedgerContext, checkpoint: Submission['checkpoint']): Promise<Said> {
  const said: Said[] = [];
  for (const witness of readWitnesses(context.environment)) {
    const cosigned = Math.min(await readCosigned(context, witness.key), checkpoint.size);
    said.push(await askWitness(context, { witness, cosigned, checkpoint }));
  }
  const of = (state: Said['state']) => said.find((each) => each.state === state);
  return of('differs') ?? of('cosigned') ?? of('unknown') ?? said[0] ?? hasCosigned;
}

/** Returns the size of the newest checkpoint with a valid cosignature of this witness; 0 if there is none. */
async function readCosigned({ store }: LedgerContext, key: Verifier): Promise<number> {
  const newest = await db.readNewestCosignature(store.db, key.name);
  return newest === null || openNote(newest.note + newest.lines, [key]) === null ? 0 : newest.size;
}

interface Submission {
  witness: WitnessAddress;
  /** The size of the newest checkpoint that the store has with its cosignature. */
  cosigned: number;
  checkpoint: { size: number; note: string };
}

/** Why a witness answers 403 or 404, by c2sp.org/tlog-witness. */
const unknownKey =
  ', as a witness that does not know the newest public key of this ledger; its operator gives it that key with --log';

/** Returns whether a time in seconds is within an hour of one in ms. A receipt with another one would prove nothing. */
const isNow = (time: number | null, nowMs: number) => time !== null && Math.abs(time * 1000 - nowMs) < 3_600_000;

async function askWitness(context: LedgerContext, submission: Submission): Promise<Said> {
  const said = await submit(context, submission).catch((error: unknown) =>
    failed(`it does not answer (${codeOf(error)})`),
  );
  return said.state === 'cosigned' ? said : { ...said, why: `witness ${submission.witness.key.name}: ${said.why}` };
}

async function submit(context: LedgerContext, { witness, cosigned, checkpoint }: Submission): Promise<Said> {
  const { store } = context;
  const { size, note } = checkpoint;
  let oldSize = cosigned;
  // The second time, with the size that the witness names.
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const proof = oldSize === 0 ? [] : await db.readConsistency(store.db, { oldSize, size });
    const body = [`old ${oldSize}`, ...proof.map(encodeHash), '', note].join('\n');
    const { status, text } = await post(context, `${witness.url}/add-checkpoint`, body);
    if (status === 200) {
      const isOwn = (line: string) =>
        openNote(`${note}${line}\n`, [witness.key])?.signatures.some(({ time }) => isNow(time, context.now())) === true;
      const own = text.split('\n').find((line) => line.startsWith('— ') && isOwn(line));
      if (own === undefined) return failed('its answer has no valid cosignature of this hour');
      // The first time of a cosignature proves most. Nothing needs that of the tree without an event, which the store may not have yet.
      if (size > cosigned) await saveCosignature(context, size, { key: witness.key, line: own });
      return hasCosigned;
    }
    // A proxy may answer with these numbers too. Only a size, or a refusal of what this witness has cosigned, is an answer of the witness.
    const named = status === 409 ? /^(\d{1,15})\n$/.exec(text)?.[1] : undefined;
    const known = named === undefined ? null : Number(named);
    const isRefused = status === 422 && oldSize > 0;
    if (isRefused || known === oldSize) return { state: 'differs', why: 'it has seen other events than the store has' };
    if (known === null)
      return {
        // With 403 it knows the ledger by another key, and may have seen more of it.
        state: status === 400 || status === 404 ? 'unknown' : 'failed',
        why: `it answers ${status}${status === 403 || status === 404 ? unknownKey : ''}`,
      };
    if (known > size) {
      // Another machine with the key may have sent a newer checkpoint.
      const newest = await db.readNewestCheckpoint(store.db);
      if (newest !== null && known <= newest.size)
        return { state: 'passed', why: 'it has a newer checkpoint, which the store has too' };
      // Without the sizes, which change: each other reason is an event of the ledger.
      return { state: 'differs', why: 'it has seen more events than the store has' };
    }
    oldSize = known;
  }
  return failed('its state changes while it is asked');
}

/** Stores a cosignature beside that of another key of the same witness. */
async function saveCosignature({ store }: LedgerContext, size: number, { key, line }: { key: Verifier; line: string }) {
  const newest = await db.readNewestCosignature(store.db, key.name);
  const lines = replaceSignature(newest?.size === size ? newest.lines : '', line);
  await db.saveCosignature(store.db, { size, witness: key.name, lines });
}

async function post({ signal }: LedgerContext, url: string, body: string): Promise<{ status: number; text: string }> {
  const response = await fetch(url, {
    method: 'POST',
    body,
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
  return { status: response.status, text: await readBody(response, longestAnswer) };
}
