import { flushCompileCache } from 'node:module';
import { growLedger } from '@keywarden/daemon';
import { sealDays } from '@keywarden/db/daemon';
import { openStore } from '@keywarden/db/store';
import { readEnvironment } from '@keywarden/runtime';

// Writes governed rows, seals days and grows the ledger, over and over, until it is killed. It exits when its parent exits.

const environment = readEnvironment(process.env);
const store = await openStore({
  databaseUrl: environment.DATABASE_URL,
  dataFolder: environment.KEYWARDEN_DATA,
  applicationName: 'a process to kill',
  role: 'keywarden_daemon',
});
const { signal } = new AbortController();
const place = { store, environment, signal, now: Date.now };
const work = [
  async () => {
    for (;;)
      await store.sql.begin(async (tx) => {
        await tx`insert into keywarden.pause (paused_by) values ('ada')`;
        await tx`update keywarden.pause set resumed_at = now(), resumed_by = 'ada' where resumed_at is null`;
      });
  },
  async () => {
    for (;;) await growLedger(place, { createsKey: true });
  },
  async () => {
    for (;;) {
      await store.sql`update keywarden.operation_sealing set changed = '{[2026-05-01,2026-05-20)}', changed_at = now() - interval '1 hour'`;
      await sealDays(store.sql, { signal });
    }
  },
];
process.on('disconnect', () => process.exit());
flushCompileCache(); // otherwise each process that is killed would leave the next one to compile
process.send?.('works');
await Promise.all(work.map(async (each) => await each()));
