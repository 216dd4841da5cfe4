import { defaultPolicy } from '@keywarden/core/policy';
import { guardedSteps, openConnections, syncOperations } from '@keywarden/daemon';
import { openStore } from '@keywarden/db/store';
import { makeContext } from '@keywarden/testkit/daemon/fixture';

// The pass of `keywarden sync operations`, but it seals nothing.

const variables = process.env;
const { CONTROL_PLANE_URL: url = '', CONTROL_PLANE_API_KEY: apiKey = '' } = variables;
const store = await openStore({
  databaseUrl: variables.DATABASE_URL,
  dataFolder: variables.KEYWARDEN_DATA ?? '',
  applicationName: 'sync pass',
  role: 'keywarden_daemon',
});
const connection = { name: 'default', url, identity: url, apiKey, keyId: null, keyFile: null, share: 1 };
const context = makeContext(store, { connections: [connection], channels: [], policy: defaultPolicy });
const [opened] = await openConnections(store.sql, context, (_name, error) => {
  throw error;
});
if (opened === undefined) throw new Error('there is no connection');
const sealNothing = { sealDays: () => Promise.resolve({ projects: 0, days: 0, failures: [] }) };
await syncOperations(context, opened, { ...guardedSteps, ...sealNothing });
await store.close();
