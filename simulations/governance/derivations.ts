import { keyList, readItems } from '@keywarden/db/report';
import { readFactsAt } from '@keywarden/testkit/store/facts';
import type { TestStore } from '@keywarden/testkit/store/test-store';

const most = 100_000;
const tenYearsMs = 3650 * 86_400_000;

/**
 * Compares what the policy and the report each derive of every key: its use, its owner, whether its creator has left, and whether its creation time can be
 * true. The policy computes them from rows, and the report in SQL. Returns the number of keys. Throws an Error that names the first key where they differ.
 */
export async function compareDerivations({ db, sql }: TestStore): Promise<number> {
  const [clock] = await sql`
    select max(at)::text as at from keywarden.control_plane_now
    having max(at) >= all (select listed_at from keywarden.member_listing)`;
  // Nothing was listed yet. Or members were listed and keys were not, so that the store's clock stays behind: the simulated one stands still between listings.
  if (typeof clock?.at !== 'string') return 0;
  const at = new Date(clock.at).toISOString();
  const { keys: facts } = await readFactsAt({ db, sql }, at);
  const list = async (filter: Parameters<typeof keyList>[0]) =>
    await readItems(db, keyList({ state: 'active', ...filter }, { organizations: null }), most);
  const shown = await list({});
  const left = new Set((await list({ creatorLeft: true })).map(({ number }) => number));
  // Age counts only where the creation time can be true. Clocks may be behind the keys.
  const dated = new Set((await list({ ageMs: -tenYearsMs })).map(({ number }) => number));
  if (shown.length !== facts.length)
    throw new Error(`the report lists ${shown.length} live keys, and the policy judges ${facts.length}`);
  for (const { number, ...item } of shown) {
    const fact = facts.find((each) => each.number === number);
    const report = {
      use: item.use,
      used: item.use === 'used' ? item.last_used_at : null,
      owner: item.owner,
      hasCreatorLeft: left.has(number),
      isDated: dated.has(number),
    };
    const policy = fact && {
      use: fact.use.state,
      used: fact.use.state === 'used' ? fact.use.at : null,
      owner: fact.owner,
      hasCreatorLeft: fact.creator === 'left',
      isDated: fact.isCreationUnknown !== true,
    };
    if (JSON.stringify(report) !== JSON.stringify(policy))
      throw new Error(
        `key ${number} is ${JSON.stringify(report)} in the report and ${JSON.stringify(policy)} for the policy`,
      );
  }
  return shown.length;
}
