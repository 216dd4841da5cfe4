import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  encodeHash,
  formatCheckpoint,
  hashLeaf,
  openNote,
  rootOfLeaves,
  type Signer,
  signNote,
} from '@keywarden/core/ledger';
import {
  createSigner,
  log,
  now,
  otherWitnessKey,
  startWitness,
  useWitness,
  witnessFolder,
  witnessKey,
} from '@keywarden/testkit/daemon/witness';
import { expect, test } from 'vitest';
import { holdWitnessFolder } from './witness.ts';

useWitness();

test.each([
  ['Ed25519', witnessKey],
  ['ML-DSA-44', otherWitnessKey],
])('a witness with a key of %s answers as c2sp.org/tlog-witness says', async (_what, own) => {
  const url = await startWitness([log.verifier], { signer: own });
  const leaves = Array.from({ length: 5 }, (_, index) => hashLeaf(String(index)));
  const noteOf = (size: number, { signer = log }: { signer?: Signer } = {}) =>
    signNote(
      formatCheckpoint({ origin: signer.verifier.name, size, root: rootOfLeaves(leaves.slice(0, size)) }),
      [signer],
      0,
    );
  const post = async (body: string) => {
    const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body });
    return [response.status, response.headers.get('content-type'), await response.text()] as const;
  };
  const other = createSigner('keywarden/log', 'log');
  const stranger = createSigner('keywarden/another', 'log');
  expect((await post(`old 0\n\n${noteOf(3, { signer: stranger })}`))[0]).toBe(404);
  expect((await post(`old 0\n\n${noteOf(3, { signer: other })}`))[0]).toBe(403);
  for (const body of [
    '',
    'old 0',
    `old 00\n\n${noteOf(3)}`,
    `old x\n\n${noteOf(3)}`,
    `old 0\nx\n\n${noteOf(3)}`,
    `old 4\n\n${noteOf(3)}`,
  ])
    expect((await post(body))[0], `the body ${JSON.stringify(body.slice(0, 10))}`).toBe(400);
  // An empty tree has one root.
  const empty = signNote(formatCheckpoint({ origin: log.verifier.name, size: 0, root: hashLeaf('x') }), [log], 0);
  for (const note of [empty, 'no note', noteOf(3).replace('3', 'three')])
    expect((await post(`old 0\n\n${note}`))[0]).toBe(400);
  // A proof where there must be none.
  expect((await post(`old 0\n${encodeHash(hashLeaf('x'))}\n\n${noteOf(3)}`))[0]).toBe(422);
  const [status, type, text] = await post(`old 0\n\n${noteOf(3)}`);
  expect([status, type]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(text).toMatch(/^— witness\.example\/one \S+\n$/);
  expect(openNote(noteOf(3) + text, [own.verifier])?.signatures).toMatchObject([{ time: now() / 1000 }]);
  expect(await post(`old 0\n\n${noteOf(5)}`)).toEqual([409, 'text/x.tlog.size', '3\n']);
  expect((await post(`old 3\n\n${noteOf(5)}`))[0]).toBe(422);
  // The same size with the same root is cosigned again, and another root is not.
  expect((await post(`old 3\n\n${noteOf(3)}`))[0]).toBe(200);
  leaves[0] = hashLeaf('another history');
  expect((await post(`old 3\n\n${noteOf(3)}`))[0]).toBe(409);
  leaves[0] = hashLeaf('0');
  // Of two trees that continue the last one, the first is cosigned.
  const grown = (event: string) => {
    leaves[4] = hashLeaf(event);
    const proof = [...leaves.slice(2, 4), rootOfLeaves(leaves.slice(0, 2)), leaves[4]];
    return `old 3\n${proof.map(encodeHash).join('\n')}\n\n${noteOf(5)}`;
  };
  expect((await post(grown('4')))[0]).toBe(200);
  expect(await post(grown('another'))).toEqual([409, 'text/x.tlog.size', '5\n']);
  expect((await post('x'.repeat(200_000)))[0]).toBe(413);
  // After a restart it has the same state, and a damaged one is never replaced.
  const again = await startWitness([log.verifier], { signer: own });
  const repeated = await fetch(`${again}/add-checkpoint`, { method: 'POST', body: `old 0\n\n${noteOf(5)}` });
  expect([repeated.status, await repeated.text()]).toEqual([409, '5\n']);
  for (const name of readdirSync(witnessFolder)) writeFileSync(join(witnessFolder, name), 'damaged');
  const damaged = await fetch(`${again}/add-checkpoint`, { method: 'POST', body: `old 0\n\n${noteOf(5)}` });
  expect(damaged.status).toBe(503);
});

test('a checkpoint with extension lines is cosigned with Ed25519, which signs them, and not with ML-DSA-44', async () => {
  const text = `${formatCheckpoint({ origin: log.verifier.name, size: 1, root: hashLeaf('x') })}extension\n`;
  const body = `old 0\n\n${signNote(text, [log], 0)}`;
  const ask = async (signer: Signer) => {
    const folder = mkdtempSync(join(witnessFolder, 'other-'));
    const url = await startWitness([log.verifier], { signer, folder });
    const { status } = await fetch(`${url}/add-checkpoint`, { method: 'POST', body });
    return { status, files: readdirSync(folder).length };
  };
  expect(await ask(witnessKey)).toEqual({ status: 200, files: 1 });
  expect(await ask(otherWitnessKey)).toEqual({ status: 400, files: 0 });
});

test('two witnesses do not work in one folder', () => {
  const letGo = holdWitnessFolder(witnessFolder);
  expect(() => holdWitnessFolder(witnessFolder)).toThrow(/^Another witness works in /);
  letGo();
  holdWitnessFolder(witnessFolder)();
});
