import { openStore } from '@keywarden/db/store';
import { type Subject, syncOnce } from './subject.ts';

// A process that syncs when it is told to, and is killed while it does. It ends with the process that started it.

export interface Order {
  databaseUrl: string;
  subject: Subject;
}

process.on('disconnect', () => process.exit());
process.on('message', ({ databaseUrl, subject }: Order) => {
  sync(databaseUrl, subject).then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error); // seen with TEST_VERBOSE=1
      process.exit(1);
    },
  );
});
process.send?.('ready');

async function sync(databaseUrl: string, subject: Subject): Promise<void> {
  const options = { dataFolder: '.', applicationName: 'crash process', role: 'keywarden_daemon' } as const;
  const store = await openStore({ ...options, databaseUrl });
  process.send?.('begun');
  await syncOnce(store, subject);
}
