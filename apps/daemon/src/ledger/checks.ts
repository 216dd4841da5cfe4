import { countOf, dayMs, someOf } from '@keywarden/core/values';
import * as db from '@keywarden/db/daemon';
import { assertCurrent, type Sql } from '@keywarden/db/store';
import type { Context, LedgerContext } from '../context.ts';
import { growLedger } from './ledger.ts';
import { askWitnesses } from './witnesses.ts';

/** Events may wait so long for a machine that signs. Then nothing is enforced automatically: what is not in the ledger is not proven. */
const mostLagMs = 3_600_000;

/**
 * Returns why nothing is enforced automatically; null if the ledger in the store continues the last checkpoint that this machine and its witnesses have seen,
 * its events do not wait for long, and no incident about it is open.
 */
export async function whyLedgerDiffers(context: LedgerContext): Promise<string | null> {
  const { store } = context;
  // This opens the incident if the store does not continue the checkpoint that this machine has seen.
  const grown = await growLedger(context);
  // A store that was rolled back together with the files of this machine continues them. Only the witnesses have seen more.
  if (grown.state === 'grown' || grown.state === 'no_key') await askWitnesses(context, { again: true });
  if (await db.hasOpenIncident(store.db, 'ledger_inconsistent'))
    return 'an incident about the ledger is open; keywarden incidents has the reason, and docs/LEDGER.md the steps';
  if (grown.state === 'unconfirmed') return grown.why;
  const waiting = await db.readOldestWaiting(store.db);
  if (waiting === null || waiting.ageMs < mostLagMs) return null;
  return `${countOf(waiting.events, 'event')} ${waiting.events === 1 ? 'has' : 'have'} waited for a signed checkpoint since ${waiting.since}; start the daemon on a machine with the ledger's key, or see docs/LEDGER.md`;
}

/**
 * Compares the store with its ledger: the functions that record and compare with those of this version, each governed row with its newest event, each event with its hash in the tree, the tree with its newest checkpoint,
 * and the operations with their seals. `months` chooses the months of operations; all by default. A difference opens an incident. Returns what was found, as
 * sentences without a subject.
 */
export async function checkLedger(
  { store, signal }: Pick<Context, 'store' | 'signal'>,
  { months }: { months?: (month: string) => boolean } = {},
): Promise<string[]> {
  // What changed while no daemon ran is sealed first. A project that cannot be sealed shows in the comparison.
  await db.sealDays(store.sql, { signal });
  const faults: string[] = [];
  const failures: unknown[] = [];
  // A comparison that fails does not stop the others.
  const compare = async (work: () => Promise<string[]>) => {
    try {
      faults.push(...(await work()));
    } catch (error) {
      failures.push(error);
    }
  };
  await compare(async () =>
    nameSome('functions, triggers or views are not those of this version', await listChanged(store.sql)),
  );
  await compare(async () => await compareRows(store.sql));
  await compare(async () => (await db.findTreeFault(store.sql, { signal })) ?? []);
  await compare(async () =>
    nameSome(
      'days of operations differ from their seals, or have none',
      (await db.checkSeals(store.sql, { signal, months })).map(({ project, day }) => `${project} on ${day}`),
    ),
  );
  if (faults.length > 0) await db.openLedgerIncident(store.db, faults.join('; '));
  else if (failures.length > 0) throw failures[0];
  return faults;
}

/** Returns the changed functions and triggers. Throws a UserError if another version has migrated the store. */
async function listChanged(sql: Sql): Promise<string[]> {
  const changed = await db.listChangedMachinery(sql);
  if (changed.length > 0) await assertCurrent(sql);
  return changed;
}

async function compareRows(sql: Sql): Promise<string[]> {
  try {
    const found = await db.listLedgerRowFaults(sql);
    return nameSome(
      'rows differ from their events',
      found.map(({ subject, fault }) => `${subject} was ${fault}`),
    );
  } catch (error) {
    if (!db.isRefusedRow(error)) throw error;
    return ['rows cannot be compared with their events, because an event is no JSON'];
  }
}

const mostNamed = 10;

/** Names what was found, once each: a row has several events, and a day several faults. */
function nameSome(what: string, found: string[]): string[] {
  return found.length === 0 ? [] : [`${what}: ${someOf([...new Set(found)], mostNamed)}`];
}

/** Chooses the months of operations that are compared on a day, so that each month is compared once in 28 days. */
export function monthsOfDay(nowMs: number): (month: string) => boolean {
  const turn = Math.floor(nowMs / dayMs) % 28;
  return (month) => {
    const [year = '0', number = '0'] = month.split('-');
    return (Number(year) * 12 + Number(number)) % 28 === turn;
  };
}
