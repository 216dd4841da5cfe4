import * as ledger from '@keywarden/core/ledger';
import { sha256 } from '@keywarden/core/values';
import { readDataFile, UserError, writeDataFile } from '@keywarden/runtime';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { holdFolder } from '../hold-folder.ts';

// A witness by c2sp.org/tlog-witness: it cosigns a checkpoint only if its tree continues the last one that it cosigned of that log.

export interface Witness {
  signer: ledger.Signer;
  /** The public keys of the logs that it knows. A log is its name; it may have several keys. */
  logs: ledger.Verifier[];
  /** The folder with the last cosigned checkpoint of each log. */
  folder: string;
  /** In ms since 1970. */
  now: () => number;
}

/** Creates the witness as an app that never listens. One process works in a folder at a time (see `holdWitnessFolder`). */
export function createWitness(witness: Witness): Hono {
  const app = new Hono();
  const answerTooLarge = () =>
    new Response('The request is longer than that of a checkpoint can be.\n', { status: 413 });
  app.post('/add-checkpoint', bodyLimit({ maxSize: 100_000, onError: answerTooLarge }), async (c) => {
    const body = await c.req.text();
    // Nothing runs between what is read of the last checkpoint and what is written: two requests cannot pass each other.
    const { status, text } = addCheckpoint(witness, body);
    return c.body(text, status, { 'content-type': status === 409 ? 'text/x.tlog.size' : 'text/plain; charset=utf-8' });
  });
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  app.notFound((c) => c.text('Not found. The route is POST /add-checkpoint (c2sp.org/tlog-witness).\n', 404));
  return app;
}

/** Holds a folder for one witness: two could each cosign another checkpoint. Returns what lets it go. Throws a UserError if it is held. */
export function holdWitnessFolder(folder: string): () => void {
  const whyNot = `Another witness works in ${folder}; end it, or set KEYWARDEN_DATA to a folder of its own.`;
  return holdFolder(folder, whyNot, 'witness-lock');
}

interface Answer {
  status: 200 | 400 | 403 | 404 | 409 | 422;
  /** With 409, the size of the last checkpoint that it cosigned. */
  text: string;
}

function addCheckpoint({ signer, logs, folder, now }: Witness, body: string): Answer {
  const request = parseRequest(body);
  if (request === null) return { status: 400, text: 'The request has another form than c2sp.org/tlog-witness.\n' };
  const { oldSize, proof, note } = request;
  const split = ledger.splitNote(note);
  const checkpoint = split === null ? null : ledger.parseCheckpoint(split.text);
  if (checkpoint === null || (checkpoint.size === 0 && !ledger.isSameHash(checkpoint.root, ledger.emptyRoot)))
    return { status: 400, text: 'The request has no checkpoint of c2sp.org/tlog-checkpoint.\n' };
  const { origin } = checkpoint;
  const keys = logs.filter(({ name }) => name === origin);
  if (keys.length === 0) return { status: 404, text: 'This witness does not know the log.\n' };
  const opened = ledger.openNote(note, keys);
  if (opened === null) return { status: 403, text: 'The checkpoint is not signed with a key of the log.\n' };
  if (!ledger.canSign(signer.verifier, opened.text))
    return {
      status: 400,
      text: 'The key of this witness signs no extension lines and no origin of more than 255 bytes.\n',
    };
  if (oldSize > checkpoint.size) return { status: 400, text: 'The old size is larger than that of the checkpoint.\n' };
  const last = readLast(folder, origin);
  const isOther = oldSize === checkpoint.size && last !== null && !ledger.isSameHash(last.root, checkpoint.root);
  if (oldSize !== (last?.size ?? 0) || isOther) return { status: 409, text: `${last?.size ?? 0}\n` };
  if (last === null ? proof.length > 0 : !ledger.isConsistent(last, checkpoint, proof))
    return { status: 422, text: 'The checkpoint does not continue the last one that this witness cosigned.\n' };
  if (last === null || checkpoint.size > last.size)
    writeDataFile(folder, fileOf(origin), ledger.formatCheckpoint(checkpoint).trimEnd());
  return { status: 200, text: ledger.signatureLines(opened.text, [signer], Math.floor(now() / 1000)) };
}

function parseRequest(body: string): { oldSize: number; proof: ledger.Hash[]; note: string } | null {
  const end = body.indexOf('\n\n');
  const [first = '', ...lines] = body.slice(0, Math.max(end, 0)).split('\n');
  const oldSize = first.startsWith('old ') ? ledger.parseSize(first.slice('old '.length)) : null;
  const proof = lines.map(ledger.decodeHash);
  if (end < 0 || oldSize === null || proof.length > 63 || !proof.every((hash) => hash !== null)) return null;
  return { oldSize, proof, note: body.slice(end + 2) };
}

const fileOf = (origin: string) => `witnessed-${sha256(origin).slice(0, 16)}`;

/** Returns the last checkpoint of a log that this witness cosigned; null before the first. Throws a UserError for a damaged file. */
function readLast(folder: string, origin: string): ledger.Checkpoint | null {
  const text = readDataFile(folder, fileOf(origin));
  if (text === undefined) return null;
  const checkpoint = ledger.parseCheckpoint(`${text}\n`);
  if (checkpoint?.origin !== origin)
    throw new UserError(
      'store',
      `${folder}/${fileOf(origin)} is damaged; restore it before this witness cosigns again.`,
    );
  return checkpoint;
}
