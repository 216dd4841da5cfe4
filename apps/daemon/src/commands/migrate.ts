import { countOf } from '@keywarden/core/values';
import { distributeOperations, type Migrated, migrateStore, setOperationRetention } from '@keywarden/db/store';
import { exitCode, print, printError } from '@keywarden/runtime';
import { hasConfigFile } from '@keywarden/runtime/config';
import { describeCommand } from './command.ts';
import { joined } from './output.ts';
import { storeOnly } from './with-context.ts';

export const migrateCommand = describeCommand({
  name: 'migrate',
  about: 'Update the database schema',
  options: { '--citus': 'distribute the operations over the nodes of a Citus cluster' },
  output: 'text',
  examples: ['', '--citus'],
  needs: { ...storeOnly, migrations: 'none' },
  async run({ store, config, environment }, { citus = false }) {
    const applied = await migrateStore(store.sql, { onBlocked: (why) => printError(`The migration waits: ${why}.`) });
    // Without a configuration file the operation retention is unknown: keep the stored setting.
    if (hasConfigFile(environment)) {
      await setOperationRetention(store.sql, config.retention.operations?.ms ?? null);
      print(`Operations are kept ${config.retention.operations?.text ?? 'for ever'}.`);
    }
    print(inWords(applied));
    if (citus) {
      const tables = await distributeOperations(store.sql);
      print(tables.length === 0 ? 'The operations are distributed.' : `Distributed ${tables.join(', ')}.`);
    }
    return exitCode.done;
  },
});

function inWords({ migrations, functions, sequences }: Migrated): string {
  const set = sequences > 0 ? `Set ${countOf(sequences, 'sequence')} to the last number of the rows. ` : '';
  if (migrations + functions === 0) return `${set}The database is up to date.`;
  const applied = [
    migrations > 0 && countOf(migrations, 'migration'),
    functions > 0 && `${functions} of the functions, views and grants`,
  ];
  return `${set}Applied ${joined(applied, ' and ')}; the database is up to date.`;
}
