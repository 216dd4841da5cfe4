import { parseProof } from '@keywarden/core/ledger';
import { makeReceipts } from '@keywarden/db/daemon';
import { openStore } from '@keywarden/db/store';
import { count, quantile, timed } from './measure.ts';

// Makes receipts in the tree of a store: `ledger-proofs.ts DATABASE_URL LEAVES`. Its yardstick is a statement that reads one tile.

const [databaseUrl = '', leaves] = process.argv.slice(2);
const size = Number(leaves);
const store = await openStore({ databaseUrl, dataFolder: '', applicationName: 'ledger proofs' });
const { db, sql } = store;
const proofs = 1000;

const bare = async (index: number) =>
  await sql`select encode(hashes, 'hex') as hashes from keywarden.ledger_tile where level = 0 and index = ${Math.floor(index / 256)}`;
const receipt = async (leafIndex: number) => {
  const event = { number: '0', type: 'pause.begun', leaf: '{}', content: '{}', leafIndex, salt: null };
  return await makeReceipts(db, [event], { size, note: '' });
};
const measured = { proof: [] as number[], bare: [] as number[] };
let most = 0;
for (let index = 0; index < 50; index += 1) await Promise.all([bare(index), receipt(index)]);
for (let each = 0; each < proofs; each += 1) {
  const index = Math.floor((each * 2_654_435_761) % size);
  measured.bare.push(1000 * (await timed(async () => await bare(index))).seconds);
  const { seconds, result } = await timed(async () => await receipt(index));
  measured.proof.push(1000 * seconds);
  most = Math.max(most, parseProof(result.join(''))?.hashes.length ?? 0);
}
const inWords = (times: number[]) => {
  const at = (share: number) => quantile(times, share).toFixed(2);
  return `median ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms; ${times.filter((ms) => ms > 10).length} of ${count(times.length)} over 10 ms`;
};
console.log(`proofs     in a tree of ${count(size)} leaves, at most ${most} hashes: ${inWords(measured.proof)}`);
console.log(`yardstick  one tile by its key, before each proof: ${inWords(measured.bare)}`);
await store.close();
