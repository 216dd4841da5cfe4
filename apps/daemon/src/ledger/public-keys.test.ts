import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSigningKey, formatCheckpoint, parseSigningKey, type Signer, signNote } from '@keywarden/core/ledger';
import { expect, test } from 'vitest';
import { endorsedKeysOf, isAccepted } from './public-keys.ts';
import { writeSeen } from './seen-checkpoint.ts';

const origin = 'keywarden-1';

function makeSigner(kind: 'log' | 'witness' = 'log'): Signer {
  const signer = parseSigningKey(createSigningKey(origin, kind));
  if (signer === null) throw new Error('no key');
  return signer;
}

const signedBy = (...signers: Signer[]) =>
  signNote(formatCheckpoint({ origin, size: 1, root: new Uint8Array(32) }), signers, 0);

test('a stolen key that was ended is accepted no more, although the owner removes from the database what it endorsed', () => {
  const place = { LEDGER_PUBLIC_KEY: undefined, KEYWARDEN_DATA: mkdtempSync(join(tmpdir(), 'public-keys-')) };
  const [first, second] = [makeSigner(), makeSigner()];
  const keys = endorsedKeysOf([first, second]);
  expect(isAccepted(place, signedBy(first), keys)).toBe(true);
  for (let count = 0; count < 2; count += 1) {
    expect(isAccepted(place, signedBy(first, second), keys)).toBe(true);
    const kept = [first, second].map(({ verifier }) => verifier.text).join('\n');
    expect(readFileSync(join(place.KEYWARDEN_DATA, 'ledger-public-keys'), 'utf8').trim()).toBe(kept);
  }
  const changed = keys.map((each) => ({ ...each, endorsement: null }));
  expect(isAccepted(place, signedBy(second), changed)).toBe(true);
  expect(readFileSync(join(place.KEYWARDEN_DATA, 'ledger-public-keys'), 'utf8').trim()).toBe(second.verifier.text);
  expect(isAccepted(place, signedBy(first), keys)).toBe(false);
});

test('a machine without public keys that remembers a checkpoint, such as a former signer, accepts its keys and no others of that name', () => {
  const place = { LEDGER_PUBLIC_KEY: undefined, KEYWARDEN_DATA: mkdtempSync(join(tmpdir(), 'public-keys-')) };
  const [first, second, other] = [makeSigner(), makeSigner(), makeSigner()];
  writeSeen(place.KEYWARDEN_DATA, signedBy(first));
  const keys = [...endorsedKeysOf([first, second]), ...endorsedKeysOf([other])];
  expect(isAccepted(place, signedBy(other), keys)).toBe(false);
  expect(readdirSync(place.KEYWARDEN_DATA)).toEqual(['ledger-checkpoint']);
  expect(isAccepted(place, signedBy(second), keys)).toBe(true);
  expect(isAccepted(place, signedBy(other), keys)).toBe(false);
});

test('a later key that did not sign stays accepted, so that what the database has of an earlier one removes none', () => {
  const place = { LEDGER_PUBLIC_KEY: undefined, KEYWARDEN_DATA: mkdtempSync(join(tmpdir(), 'public-keys-')) };
  const [first, second] = [makeSigner(), makeSigner()];
  const keys = endorsedKeysOf([first, second]);
  expect(isAccepted(place, signedBy(first), keys)).toBe(true);
  expect(isAccepted(place, signedBy(first, second), keys)).toBe(true);
  // A note of both keys is no endorsement.
  const claimed = [
    { publicKey: first.verifier.text, endorsement: signedBy(first, second) },
    { publicKey: second.verifier.text, endorsement: null },
  ];
  expect(isAccepted(place, signedBy(first), claimed)).toBe(true);
  expect(isAccepted(place, signedBy(second), claimed)).toBe(true);
});

test('a key that signed nothing yet is not kept, LEDGER_PUBLIC_KEY is not overruled by a file, and a witness is no key of a ledger', () => {
  const place = { LEDGER_PUBLIC_KEY: undefined, KEYWARDEN_DATA: mkdtempSync(join(tmpdir(), 'public-keys-')) };
  const [first, second] = [makeSigner(), makeSigner()];
  const witness = makeSigner('witness');
  const keys = endorsedKeysOf([first, second]);
  const ofWitness = [{ publicKey: witness.verifier.text, endorsement: null }];
  expect(isAccepted(place, signedBy(witness), ofWitness)).toBe(false);
  const ofNone = { ...place, LEDGER_PUBLIC_KEY: witness.verifier.text };
  expect(() => isAccepted(ofNone, signedBy(witness), ofWitness)).toThrow(/LEDGER_PUBLIC_KEY is no public key/);
  const given = { ...place, LEDGER_PUBLIC_KEY: first.verifier.text };
  expect(isAccepted(given, signedBy(first, second), keys)).toBe(true);
  expect(readdirSync(place.KEYWARDEN_DATA)).toEqual([]);
  // Also when it is kept already.
  for (let count = 0; count < 2; count += 1) {
    expect(isAccepted(place, signedBy(first), keys)).toBe(true);
    expect(readFileSync(join(place.KEYWARDEN_DATA, 'ledger-public-keys'), 'utf8').trim()).toBe(first.verifier.text);
  }
  const other = { ...place, LEDGER_PUBLIC_KEY: makeSigner().verifier.text };
  expect(isAccepted(other, signedBy(first), keys)).toBe(false);
});

test('an endorsement is of one key: neither that of another key nor another note of an accepted key is one', () => {
  const [first, second, other] = [makeSigner(), makeSigner(), makeSigner()];
  const given = { LEDGER_PUBLIC_KEY: first.verifier.text, KEYWARDEN_DATA: '/nowhere' };
  const [, endorsed] = endorsedKeysOf([first, second]);
  expect(endorsed?.endorsement).toContain(`${origin}\nanother key of this ledger\n${second.verifier.text}\n\n`);
  for (const endorsement of [endorsed?.endorsement ?? '', signedBy(first)])
    expect(isAccepted(given, signedBy(other), [{ publicKey: other.verifier.text, endorsement }])).toBe(false);
});

test('each earlier key endorses a later one, so that a machine which knows any of them accepts it', () => {
  const [first, second, third] = [makeSigner(), makeSigner(), makeSigner()];
  const last = endorsedKeysOf([first, second, third]).slice(2);
  for (const { verifier } of [first, second]) {
    const given = { LEDGER_PUBLIC_KEY: verifier.text, KEYWARDEN_DATA: '/nowhere' };
    expect(isAccepted(given, signedBy(third), last)).toBe(true);
  }
});

test('a key between two others that sign has ended', () => {
  const place = { LEDGER_PUBLIC_KEY: undefined, KEYWARDEN_DATA: mkdtempSync(join(tmpdir(), 'public-keys-')) };
  const [first, second, third] = [makeSigner(), makeSigner(), makeSigner()];
  const keys = endorsedKeysOf([first, second, third]);
  const unendorsed = keys.map((each) => ({ ...each, endorsement: null }));
  expect(isAccepted(place, signedBy(first), keys)).toBe(true);
  expect(isAccepted(place, signedBy(first, second, third), keys)).toBe(true);
  expect(isAccepted(place, signedBy(first, third), unendorsed)).toBe(true);
  expect(isAccepted(place, signedBy(second), unendorsed)).toBe(false);
  expect(isAccepted(place, signedBy(third), unendorsed)).toBe(true);
});
