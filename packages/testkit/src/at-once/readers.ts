import * as db from '@keywarden/db/daemon';
import * as report from '@keywarden/db/report';
import { readFactsAt } from '../store/facts.ts';
import { always, hourOf, type Noun } from './fixture.ts';

// What daemons and reports read while others write.

const everything = { organizations: null };
const lists = [
  report.keyList({}, everything),
  report.credentialList({}, everything),
  report.findingList({}, null),
  report.planList(),
  report.reviewList({}),
  report.exemptionList({}, null),
  report.rotationList({}, null),
  report.ledgerEventList({}),
];

export const readers: Noun['writers'] = {
  judge: always(async ({ daemon, round }) => {
    await readFactsAt(daemon, hourOf(12 * round));
    await db.listReportApprovals(daemon.sql);
  }),
  exportLists: always(async ({ report: { sql } }) => {
    const snapshot = await report.openSnapshot(sql);
    try {
      for (const list of lists) for await (const rows of snapshot.stream(list)) rows.forEach((row) => JSON.parse(row));
    } finally {
      await snapshot.close();
    }
  }),
  compareSequences: always(async ({ daemon }) => await daemon.sql`select from keywarden.sequences_behind()`),
  compareLedger: always(async ({ daemon }) => {
    await db.listChangedMachinery(daemon.sql);
    await db.listLedgerRowFaults(daemon.sql);
  }),
};
