import {
  fixture,
  liveNames,
  openIncidents,
  organization,
  pass,
  prepare,
  store,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';

useRotateFixture();

test('T2: a new key whose name a login of the daemon wrote into an intent is no orphan, and stays', async () => {
  await prepare(['bot']);
  await pass(310, { acts: false });
  const { sql } = await store.as('keywarden_daemon');
  const [bot] = await sql`select number, creator_id from keywarden.key where name = 'bot'`;
  const key = String(bot?.number);
  const [made] = await sql`
    insert into keywarden.rotation (id, key_number, lineage_number, sink, quiet_for, adopt_within, via, requested_by, policy_sha256)
    values ('abcd2345', ${key}, ${key}, 'files', '7 days', '14 days', 'command line', 'eve', 'x') returning number`;
  const rotation = String(made?.number);
  await sql`
    insert into keywarden.rotation_event (rotation_number, sequence, state, at) values (${rotation}, 1, 'planned', now()), (${rotation}, 2, 'minting', now())`;
  await sql`
    insert into keywarden.rotation_mint (rotation_number, attempt, name, connection, creator_id, last_listing_number)
    select ${rotation}, 1, 'deploy', 'main', ${String(bot?.creator_id)}, max(number) from keywarden.key_listing where scope like 'organization:%'`;
  await fixture.ask('POST', `/organizations/${organization}/api_keys`, { key_name: 'deploy' });
  for (let passes = 0; passes < 4; passes += 1) await pass(310);
  expect(await liveNames()).toContain('deploy');
  const why = 'the intent to mint it does not have the name of a successor';
  expect(await openIncidents()).toEqual([['orphan', 'deploy', why]]);
});
