import { expect, test } from 'vitest';
import { canonicalJson, sha256 } from '../values/index.ts';
import { formatCheckpoint } from './checkpoint.ts';
import { createSigningKey, type KeyAlgorithm, parseSigningKey, type Signer } from './keys.ts';
import { hashLeaf, hashRange, rangesOfInclusion, rootOfLeaves } from './merkle.ts';
import { signNote } from './note.ts';
import { formatReceipt, type ReceiptExtra, readLogged, verifyReceipt } from './receipt.ts';

function signerOf(name: string, kind: 'log' | 'witness', algorithm?: KeyAlgorithm): Signer {
  const signer = parseSigningKey(createSigningKey(name, kind, algorithm));
  if (signer === null) throw new Error('no key');
  return signer;
}

const log = signerOf('keywarden/test', 'log');
const witness = signerOf('witness.example', 'witness');
const quantumSafe = signerOf('witness.example', 'witness', 'ml-dsa-44');
const keys = [log.verifier, witness.verifier];

const salt = 'ab'.repeat(32);
const content = canonicalJson({
  approved_at: '2026-05-01T00:00:00Z',
  number: '17',
  plan_id: 'p-1',
  approved_by: { salted: sha256(`${salt}:approved_by:ada`) },
});
const leaf = canonicalJson({
  actor: sha256(`${salt}:approved_by:ada`),
  at: '2026-05-01T00:00:00Z',
  content: sha256(content),
  recorded: '2026-05-01T00:00:01Z',
  subject: 'plan_approval/17',
  type: 'plan.approved',
  v: '1',
});
const extra: ReceiptExtra = { leaf, content, salt, personal: { approved_by: 'ada' } };
const index = 5;
const hashes = Array.from({ length: 11 }, (_, at) => hashLeaf(at === index ? leaf : `leaf ${at}`));
const root = rootOfLeaves(hashes);
const proof = rangesOfInclusion(index, hashes.length).map((range) =>
  hashRange(range, (level, at) => rootOfLeaves(hashes.slice(at * 2 ** level, (at + 1) * 2 ** level))),
);
const checkpointOf = (signers: Signer[], origin = 'keywarden/test', at = 1_800_000_000) =>
  signNote(formatCheckpoint({ origin, size: hashes.length, root }), signers, at);
const receiptOf = (change: Partial<ReceiptExtra> = {}, checkpoint = checkpointOf([log, witness]), at = index) =>
  formatReceipt({ ...extra, ...change }, { index: at, hashes: proof, checkpoint });

test('a receipt proves what was recorded, where, and who saw it', () => {
  expect(verifyReceipt(receiptOf(), keys)).toMatchObject({
    type: 'plan.approved',
    subject: 'plan_approval/17',
    personal: { approved_by: 'ada' },
    hidden: [],
    index: 5,
    size: 11,
    origin: 'keywarden/test',
    witnesses: [{ name: 'witness.example', time: 1_800_000_000 }],
  });
  const both = checkpointOf([log, witness, quantumSafe]);
  expect(verifyReceipt(receiptOf({}, both), [...keys, quantumSafe.verifier])).toMatchObject({
    witnesses: [{ name: 'witness.example' }, { name: 'witness.example', time: 1_800_000_000 }],
  });
});

test('a cosignature from before the event was recorded is none of its tree', () => {
  const early = checkpointOf([log, witness], 'keywarden/test', 1_577_836_800);
  expect(verifyReceipt(receiptOf({}, early), keys)).toMatchObject({ index: 5, witnesses: [] });
});

test('erased personal data is not shown, and the rest is still proven', () => {
  expect(verifyReceipt(receiptOf({ salt: null, personal: {} }), keys)).toMatchObject({ hidden: ['approved_by'] });
});

test.each([
  ['another leaf', receiptOf({ leaf: leaf.replace('plan.approved', 'plan.rejected') }), /not in the log/],
  ['another time', receiptOf({ leaf: leaf.replace('2026-05-01', '2026-04-01') }), /not in the log/],
  ['another content', receiptOf({ content: content.replace('p-1', 'p-2') }), /content is not/],
  ['another person', receiptOf({ personal: { approved_by: 'eve' } }), /approved_by is not/],
  ['a person without a salt', receiptOf({ salt: null }), /approved_by is not/],
  ['a person in a field that is not personal', receiptOf({ personal: { number: '17' } }), /number is not/],
  ['another place', receiptOf({}, undefined, 4), /not in the log/],
  [
    'a checkpoint of another key',
    receiptOf({}, checkpointOf([signerOf('keywarden/test', 'log')])),
    /a key that was not given/,
  ],
  ['a checkpoint that only a witness signed', receiptOf({}, checkpointOf([witness])), /not signed/],
  ['a checkpoint of another log', receiptOf({}, checkpointOf([log], 'keywarden/other')), /not one of that log/],
  ['a changed checkpoint', receiptOf().replace('\n11\n', '\n12\n'), /not signed/],
  ['no event', receiptOf().replace(/extra \S+/, 'extra AAAA'), /no event/],
  ['half of it', receiptOf().slice(0, 200), /no receipt|no event|not signed/],
  ['nothing', '', /no receipt/],
  ['something before its index', receiptOf().replace('\nindex', '\nxindex'), /no receipt/],
  ['something after its index', receiptOf().replace('\nindex 5', '\nindex 5x'), /no receipt/],
])('a receipt with %s proves nothing', (_what, text, why) => {
  expect(verifyReceipt(text, keys)).toMatch(why);
});

test('a receipt that is cut at any byte proves nothing', () => {
  const whole = receiptOf();
  for (let end = 0; end < whole.length; end += 7) expect(verifyReceipt(whole.slice(0, end), keys)).toBeTypeOf('string');
});

test.each(['eve', salt])('the boundary between the salt and a value that begins with %s cannot move', (begin) => {
  const value = `${begin}:approved_by:ada`;
  const [before, after] = ['ada', value].map((name) => sha256(`${salt}:approved_by:${name}`));
  const shifted = content.replace(String(before), String(after));
  const shiftedLeaf = leaf.replace(String(before), String(after)).replace(sha256(content), sha256(shifted));
  const tree = rootOfLeaves([hashLeaf(shiftedLeaf)]);
  const checkpoint = signNote(formatCheckpoint({ origin: 'keywarden/test', size: 1, root: tree }), [log], 0);
  const show = (withSalt: string, approved: string) =>
    verifyReceipt(
      formatReceipt(
        { leaf: shiftedLeaf, content: shifted, salt: withSalt, personal: { approved_by: approved } },
        { index: 0, hashes: [], checkpoint },
      ),
      keys,
    );
  expect(show(salt, value)).toMatchObject({ personal: { approved_by: value } });
  expect(show(`${salt}:approved_by:${begin}`, 'ada')).toMatch(/has no event/);
});

test.each([
  [{ at: 'yesterday' }, 'its event has a time that is none'],
  [{ recorded: '2026-02-30T00:00:00Z' }, 'its event has a time that is none'],
  [{ at: '2026-04-01T00:00:00Z' }, 'its time is not one of its row'],
  [{ actor: sha256('bob') }, 'its actor is not one of its row'],
  [{ v: '2' }, 'its event has an unknown form'],
])('an entry with %o proves nothing: %s', (change, why) => {
  const entry = { leaf: canonicalJson({ ...JSON.parse(leaf), ...change }), content };
  expect(readLogged(entry)).toBe(why);
  expect(readLogged({ leaf, content })).toMatchObject({ type: 'plan.approved' });
});
