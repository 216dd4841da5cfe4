import { createMachines, type Machines } from '@keywarden/testkit/daemon/ledger-machines';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { checkLedger } from './checks.ts';
import { growLedger } from './ledger.ts';

let machines: Machines;
let owner: TestStore;
beforeEach(async () => {
  machines = await createMachines(inject('postgresUrl'));
  ({ owner } = machines);
});
afterEach(async () => await machines.close());

test.each([
  ['yesterday', "- interval '1 day'"],
  ['in a year', "+ interval '1 year'"],
])(
  'an event that an owner adds with a false time of recording, %s, opens an incident as it is signed',
  async (_when, shift) => {
    const first = await machines.create();
    await machines.addEvent();
    await growLedger(first, { createsKey: true });
    expect(await checkLedger(first)).toEqual([]);
    await machines.addEvent('eve');
    await machines.behindTriggers(`
    update keywarden.ledger_event set recorded_at = recorded_at ${shift} where leaf_index is null;
    update keywarden.ledger_event set leaf = regexp_replace(leaf, '"recorded":"[^"]*"', '"recorded":"' || keywarden.ledger_time(recorded_at) || '"') where leaf_index is null`);
    expect(await growLedger(first, { createsKey: true })).toMatchObject({ state: 'grown' });
    // Row, event and tree agree with each other.
    expect(await checkLedger(first)).toEqual([]);
    const readIncidents = async () =>
      (await owner.sql`select detail ->> 'why' as why, closed_at from keywarden.incident order by number`).map(
        ({ why, closed_at: at }) => ({ why, isOpen: at === null }),
      );
    const why = expect.stringMatching(
      /^the event of pause\/2 says that it was recorded at \d{4}-.*Z, which contradicts the times of other events$/,
    );
    expect(await readIncidents()).toEqual([{ why, isOpen: true }]);
    await owner.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada'`;
    await machines.addEvent();
    expect(await growLedger(first, { createsKey: true })).toMatchObject({ state: 'grown' });
    expect(await readIncidents()).toEqual([{ why, isOpen: false }]);
  },
);
