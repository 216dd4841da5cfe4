import { readBody } from '@keywarden/core/client';
import { encodeHash, openNote, parseVerifier, type Verifier } from '@keywarden/core/ledger';
import { listCosigned, readConsistency, readNewestCheckpoint, saveCosignature } from '@keywarden/db/daemon';
import { codeOf, type Environment, usageError } from '@keywarden/runtime';
import { type LedgerPlace, reportInconsistent } from './ledger.ts';

/** A witness that the ledger's checkpoints are sent to: its public key, and its address for submissions. */
export interface WitnessPlace {
  key: Verifier;
  url: string;
}

/** Returns the witnesses of LEDGER_WITNESSES: a public key and an address on each line. Throws a UserError for another form. */
export function readWitnesses({ LEDGER_WITNESSES, ALLOW_HTTP }: Pick<Environment, 'LEDGER_WITNESSES' | 'ALLOW_HTTP'>) {
  const lines = (LEDGER_WITNESSES ?? '').split('\n').filter((line) => line.trim() !== '');
  return lines.map((line): WitnessPlace => {
    const [text = '', url = '', ...rest] = line.trim().split(/\s+/);
    const key = parseVerifier(text);
    const isSafe = URL.canParse(url) && (url.startsWith('https://') || ALLOW_HTTP || isLocal(url));
    if (key?.kind !== 'witness' || !isSafe || rest.length > 0)
      throw usageError(
        'A line of LEDGER_WITNESSES is not the public key of a witness, a space, and its https:// address; fix it.',
      );
    return { key, url: url.replace(/\/$/, '') };
  });
}

const isLocal = (url: string) => ['127.0.0.1', '[::1]', 'localhost'].includes(new URL(url).hostname);

const timeoutMs = 10_000;
/** In bytes. A cosignature has a few hundred. */
const longestAnswer = 10_000;

/**
 * Sends the newest checkpoint to each witness that has not cosigned it, and stores the cosignatures. A witness that has seen other events, or more, opens an
 * incident. Returns why witnesses did not cosign, as sentences.
 */
export async function askWitnesses(place: LedgerPlace, signal: AbortSignal): Promise<string[]> {
  const witnesses = readWitnesses(place.environment);
  const newest = await readNewestCheckpoint(place.store.db);
  if (witnesses.length === 0 || newest === null) return [];
  const cosigned = await listCosigned(place.store.db);
  const failures: string[] = [];
  for (const witness of witnesses) {
    const last = cosigned.get(witness.key.name) ?? 0;
    if (last >= newest.size) continue;
    const failure = await askWitness(place, { witness, oldSize: last, checkpoint: newest, signal }).catch(
      (error: unknown) => `it does not answer (${codeOf(error)})`,
    );
    if (failure !== null) failures.push(`witness ${witness.key.name}: ${failure}`);
  }
  return failures;
}

interface Asked {
  witness: WitnessPlace;
  oldSize: number;
  checkpoint: { size: number; note: string };
  signal: AbortSignal;
}

/** Returns whether a time in seconds is within an hour of one in ms. A receipt with another one would prove nothing. */
const isNow = (time: number | null, nowMs: number) => time !== null && Math.abs(time * 1000 - nowMs) < 3_600_000;

async function askWitness(place: LedgerPlace, asked: Asked): Promise<string | null> {
  const { db } = place.store;
  let { oldSize } = asked;
  const { witness, checkpoint } = asked;
  const { size, note } = checkpoint;
  // The second time, with the size that the witness names.
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const proof = oldSize === 0 ? [] : await readConsistency(db, { oldSize, size });
    const body = [`old ${oldSize}`, ...proof.map(encodeHash), '', note].join('\n');
    const response = await fetch(`${witness.url}/add-checkpoint`, {
      method: 'POST',
      body,
      redirect: 'manual',
      signal: AbortSignal.any([asked.signal, AbortSignal.timeout(timeoutMs)]),
    });
    const text = await readBody(response, longestAnswer);
    if (response.status === 200) {
      const lines = text.split('\n').filter((line) => line.startsWith('— '));
      const isOwn = (line: string) =>
        openNote(`${note}${line}\n`, [witness.key])?.signatures.some(({ time }) => isNow(time, place.now())) === true;
      const own = lines.find(isOwn);
      if (own === undefined) return 'its answer has no valid cosignature of this hour';
      await saveCosignature(db, { size, witness: witness.key.name, lines: `${own}\n` });
      return null;
    }
    const known = /^(\d{1,15})\n$/.exec(text)?.[1];
    if (response.status === 409 && known !== undefined && Number(known) !== oldSize) {
      oldSize = Number(known);
      if (oldSize > size) {
        const why = `witness ${witness.key.name} has seen ${oldSize} events, and the store has ${size}`;
        return (await reportInconsistent(place, why)).why;
      }
      continue;
    }
    if (response.status === 409 || response.status === 422) {
      const why = `witness ${witness.key.name} has seen other events than the store has`;
      return (await reportInconsistent(place, why)).why;
    }
    return `it answers ${response.status}`;
  }
  return 'its state changes while it is asked';
}
