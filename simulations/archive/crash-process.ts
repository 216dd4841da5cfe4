import { flushCompileCache } from 'node:module';
import { openStore } from '@keywarden/db/store';
import { type Subject, syncOnce } from './subject.ts';

// A process that syncs on request and is killed meanwhile. It exits when its parent exits.

export interface Order {
  databaseUrl: string;
  subject: Subject;
}

process.on('disconnect', () => process.exit());
process.on('message', ({ databaseUrl, subject }: Order) => {
  sync(databaseUrl, subject).then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error); // shown with TEST_VERBOSE=1
      process.exit(1);
    },
  );
});
flushCompileCache(); // otherwise each process that is killed would leave the next one to compile
process.send?.('ready');

async function sync(databaseUrl: string, subject: Subject): Promise<void> {
  const options = { dataFolder: '.', applicationName: 'crash process', role: 'keywarden_daemon' } as const;
  const store = await openStore({ ...options, databaseUrl });
  process.send?.('begun');
  await syncOnce(store, subject);
}
