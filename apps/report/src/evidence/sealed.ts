import { verifyPage } from '@keywarden/core/ledger';
import * as store from '@keywarden/db/report';
import { conflict } from '../problem.ts';
import type { Ending } from '../services.ts';
import { createZip, type Written, writeLines, writeText, type Zip } from './files.ts';

export interface SealedRequest {
  projects: store.SealedProject[];
  /** The first day, and the day after the last. */
  from: string;
  to: string;
  madeAt: Date;
  fileName: string;
}

export const originOf = ({ note }: store.SignedTree) => note.slice(0, note.indexOf('\n'));

/**
 * Writes the operations of projects and days as one zip archive, with the receipts of their seals: anybody with the ledger's public key can check that they
 * are exactly those that were archived. Throws a Problem (409) before the first checkpoint.
 */
export async function* writeSealedOperations(
  snapshot: store.Snapshot,
  { projects, from, to, madeAt, fileName }: SealedRequest,
): AsyncGenerator<Uint8Array, Ending> {
  const tree = await store.readSignedTree(snapshot, { prefersCosigned: true });
  if (tree === null)
    throw conflict('The ledger has no signed checkpoint yet; the daemon with its key signs one within a minute.');
  const zip = createZip(madeAt);
  const files: object[] = [];
  let records = 0;
  const drops = await store.readDropEvents(snapshot, { from, to, size: tree.size });
  const retention = yield* writeReceipts(zip, 'retention.ndjson', receiptsOf(snapshot, [drops], tree));
  for (const [index, { number, name }] of projects.entries()) {
    const place = String(index + 1).padStart(5, '0');
    const events = store.readSealEvents(snapshot, { project: number, from, to, size: tree.size });
    const seals = yield* writeReceipts(zip, `seals/${place}.ndjson`, receiptsOf(snapshot, events, tree));
    const lines = writeLines(zip, `operations/${place}.ndjson`);
    const range = { from: `${from}T00:00:00Z`, to: `${to}T00:00:00Z` };
    for await (const items of snapshot.stream(store.sealedOperationList(range, number))) {
      lines.write(items);
      yield zip.take();
    }
    const operations = lines.end();
    files.push({ project: name, seals, operations });
    records += operations.records;
  }
  const manifest = { kind: 'sealed-operations', from, to, retention, projects: files };
  const { sha256 } = writeText(zip, 'manifest.json', `${JSON.stringify(manifest, null, 2)}\n`);
  writeText(zip, 'VERIFY.md', verifyPage(originOf(tree), fileName));
  yield zip.take();
  zip.end();
  return { last: zip.take(), records, sha256 };
}

/** Yields the receipts of each batch of events. */
export async function* receiptsOf(
  snapshot: store.Snapshot,
  batches: AsyncIterable<store.PlacedEvent[]> | store.PlacedEvent[][],
  tree: store.SignedTree,
): AsyncGenerator<string[]> {
  for await (const events of batches) yield await store.makeReceipts(snapshot, events, tree);
}

/** Writes a file of receipts, each as the member `receipt` of a line. Takes the bytes of each batch. */
export async function* writeReceipts(
  zip: Zip,
  file: string,
  batches: AsyncIterable<string[]>,
): AsyncGenerator<Uint8Array, Written> {
  const lines = writeLines(zip, file);
  for await (const receipts of batches) {
    lines.write(receipts.map((receipt) => JSON.stringify({ receipt })));
    yield zip.take();
  }
  return lines.end();
}
