import { planKeys, resumeEnforcement } from '@keywarden/daemon';
import { closeIncident, listIncidents } from '@keywarden/db/daemon';
import { applyByHand, assertUnharmed, attempt, consume, hour, pass, reconnect, type Scenario } from './pass.ts';

/** A quota that no company reaches. */
export const plenty = 100;

/** A day of calm passes shows what still goes wrong; the further days only wait for what is due. */
const calmRounds = 4;

/** A person closes the incidents, and in two days, or as many more as the quota takes, what the truth flags all that time is gone. */
export async function becomeWhole(scenario: Scenario, perDay: number): Promise<void> {
  const { company, context, judge } = scenario;
  const flagged = async () => new Set((await judge.flagged()).map(({ id }) => id));
  let due = [...(await flagged())];
  // A list that lost many rows is doubted for a day. What went the day before counts, and keys that are flagged meanwhile take turns too.
  const days = 2 + (perDay < plenty ? 1 + 2 * Math.ceil(due.length / perDay) : 0);
  for (let round = 0; round < days * 4 && (due.length > 0 || round < calmRounds); round += 1) {
    for (const { id: number } of await listIncidents(context.store.db, { isOpen: true, limit: 1000 }))
      await closeIncident(context.store.db, { number, by: 'ada', note: null });
    await resumeEnforcement(context, 'ada');
    await consume(scenario);
    await pass(scenario);
    await attempt(scenario, async () => await applyByHand(context, await reconnect(scenario)));
    assertUnharmed(judge);
    await company.advance(5 * hour);
    // A creator may be back: one that is flagged again then is flagged anew.
    const now = await flagged();
    due = due.filter((id) => now.has(id));
  }
  if (due.length > 0) throw new Error(`still there: ${await describeLeft(scenario, due)}`);
}

/** The plan knows keys by the ids that lists show, and the truth by its own: names are the same. */
async function describeLeft({ context, company, ...scenario }: Scenario, ids: string[]): Promise<string> {
  const plan = await planKeys(context, await reconnect({ context, company, ...scenario }));
  const names = ids.map((id) => company.keys.get(id)?.name ?? id);
  const said = [
    ...plan.document.items.map(({ key }) => `${key.name}: in the plan`),
    ...plan.document.held.map(({ key, why }) => `${key.name}: ${why.text}`),
  ];
  return names.map((name) => said.find((each) => each.startsWith(`${name}:`)) ?? `${name}: not flagged`).join('; ');
}
