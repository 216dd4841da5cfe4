import { armMachine, planKeys } from '@keywarden/daemon';
import { closeIncidents, listIncidents } from '@keywarden/db/daemon';
import { applyByHand, assertUnharmed, attempt, consume, hour, pass, reconnect, type Scenario } from './pass.ts';

/** A quota that no company reaches. */
export const plenty = 100;

/** A day of calm passes reveals remaining defects; further days only wait for keys that are due. */
const calmRounds = 4;

/**
 * Closes the incidents as a person would. Checks that every key that is truly flagged throughout is gone after two days, or after as many more as the
 * quota requires.
 */
export async function becomeWhole(scenario: Scenario, perDay: number): Promise<void> {
  const { company, context, judge } = scenario;
  const flagged = async () => new Set((await judge.flagged()).map(({ id }) => id));
  let due = [...(await flagged())];
  // A list that lost many rows is a suspect listing for a day. Revocations of the day before count towards the quota, and so do keys that are flagged
  // meanwhile.
  const days = 2 + (perDay < plenty ? 1 + 2 * Math.ceil(due.length / perDay) : 0);
  for (let round = 0; round < days * 4 && (due.length > 0 || round < calmRounds); round += 1) {
    for (const { id: number } of await listIncidents(context.store.db, { isOpen: true, limit: 1000 }))
      await closeIncidents(context.store.db, { number }, { by: 'ada' });
    await armMachine(context, 'ada');
    await consume(scenario);
    await pass(scenario);
    await attempt(scenario, async () => await applyByHand(context, await reconnect(scenario)));
    assertUnharmed(judge);
    await company.advance(5 * hour);
    // A creator may return: a key that is flagged again then counts as newly flagged.
    const now = await flagged();
    due = due.filter((id) => now.has(id));
  }
  if (due.length > 0) throw new Error(`still live: ${await describeLeft(scenario, due)}`);
}

/** Matches by name: the plan has the ids that lists show, and the truth has the real ids. */
async function describeLeft({ context, company, ...scenario }: Scenario, ids: string[]): Promise<string> {
  const plan = await planKeys(context, await reconnect({ context, company, ...scenario }));
  const names = ids.map((id) => company.keys.get(id)?.name ?? id);
  const said = [
    ...plan.document.items.map(({ key }) => `${key.name}: in the plan`),
    ...plan.document.held.map(({ key, why }) => `${key.name}: ${why.text}`),
  ];
  return names.map((name) => said.find((each) => each.startsWith(`${name}:`)) ?? `${name}: not flagged`).join('; ');
}
