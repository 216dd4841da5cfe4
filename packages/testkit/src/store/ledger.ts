import {
  createSigningKey,
  formatCheckpoint,
  openNote,
  parseCheckpoint,
  parseSigningKey,
  signNote,
} from '@keywarden/core/ledger';
import { integrateEvents, noteLedgerKeys, sealDays } from '@keywarden/db/daemon';
import type { Store } from '@keywarden/db/store';

/** The key of a test's ledger. */
export interface TestLedger {
  privateKey: string;
  /** The public key, as auditors get it. */
  publicKey: string;
  /** Seals the settled days, and signs all events. */
  sign(): Promise<void>;
}

/** Creates the ledger of a store with a key of its own. `store` has the daemon's role. */
export function createTestLedger(
  store: Pick<Store, 'sql' | 'db'>,
  privateKey = createSigningKey('test', 'log'),
): TestLedger {
  const signer = parseSigningKey(privateKey);
  if (signer === null) throw new Error('no key');
  const { verifier } = signer;
  return {
    privateKey,
    publicKey: verifier.text,
    async sign() {
      await noteLedgerKeys(store.db, [{ publicKey: verifier.text, endorsement: null }]);
      const { failures } = await sealDays(store.sql, { signal: new AbortController().signal });
      if (failures[0] !== undefined) throw failures[0].error;
      const grown = await integrateEvents(store.sql, {
        limit: 100_000,
        seen: null,
        open: (note) => parseCheckpoint(openNote(note, [verifier])?.text ?? ''),
        sign: (head) => signNote(formatCheckpoint({ origin: verifier.name, ...head }), [signer], 0),
      });
      if (typeof grown === 'string') throw new Error(grown);
    },
  };
}
