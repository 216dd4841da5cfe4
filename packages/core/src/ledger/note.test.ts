import { expect, test } from 'vitest';
import { formatCheckpoint, parseCheckpoint } from './checkpoint.ts';
import { createSigningKey, parseSigningKey, parseVerifier, type Signer } from './keys.ts';
import { emptyRoot } from './merkle.ts';
import { addSignatures, openNote, signNote, splitNote } from './note.ts';
import { formatProof, parseProof } from './proof.ts';

function signerOf(text: string): Signer {
  const signer = parseSigningKey(text);
  if (signer === null) throw new Error('no key');
  return signer;
}

const log = signerOf(createSigningKey('keywarden.example/log', 'log'));
const witness = signerOf(createSigningKey('witness.example/w1', 'witness'));
const quantumSafe = signerOf(createSigningKey('witness.example/w2', 'witness', 'ml-dsa-44'));
const text = formatCheckpoint({ origin: 'keywarden.example/log', size: 7, root: emptyRoot });
const keys = [log, witness, quantumSafe].map(({ verifier }) => verifier);
const note = signNote(text, [log, witness, quantumSafe], 1_679_315_147);

test('the example of Go’s own documentation opens, and a changed one does not', () => {
  const key = parseVerifier('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW');
  const message =
    'If you think cryptography is the answer to your problem,\nthen you don’t know what your problem is.\n'.replaceAll(
      '’',
      "'",
    ) +
    '\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';
  expect(key).not.toBeNull();
  expect(openNote(message, key === null ? [] : [key])?.signatures).toHaveLength(1);
  expect(openNote(message.replace('answer', 'Answer'), key === null ? [] : [key])).toBeNull();
});

test('a checkpoint with cosignatures opens with all keys, or with one of them', () => {
  expect(openNote(note, keys)?.signatures.map(({ by, time }) => [by.name, time])).toEqual([
    ['keywarden.example/log', null],
    ['witness.example/w1', 1_679_315_147],
    ['witness.example/w2', 1_679_315_147],
  ]);
  for (const key of keys) expect(openNote(note, [key])?.text).toBe(text);
  expect(parseCheckpoint(text)).toEqual({ origin: 'keywarden.example/log', size: 7, root: emptyRoot });
});

test('the name of a key has no space of Unicode, and may have any other character', () => {
  const lineOf = (name: string) => `— ${name} ${Buffer.alloc(68, 1).toString('base64')}\n`;
  for (const space of ['\u0085', '\u00a0', '\u2003', '\u2028', '\u3000'])
    expect(openNote(note + lineOf(`a${space}b`), [log.verifier])).toBeNull();
  for (const other of ['\ufeff', '\u200b', 'é'])
    expect(openNote(note + lineOf(`a${other}b`), [log.verifier])).not.toBeNull();
});

test('cosignatures are added to a note, and lines that would make it worthless are not', () => {
  const signed = signNote(text, [log], 0);
  const lines = note.slice(signed.length);
  expect(addSignatures(signed, lines)).toBe(note);
  const forged = `— ${log.verifier.name} ${Buffer.concat([Buffer.from(log.verifier.id, 'hex'), Buffer.alloc(64)]).toString('base64')}\n`;
  expect(openNote(signed + forged, [log.verifier])).toBeNull();
  expect(addSignatures(signed, `${forged}no signature\n\n${lines}`)).toBe(note);
  const lineOf = (name: string, size = 76) => `— ${name} ${Buffer.alloc(size, 1).toString('base64')}\n`;
  const many = Array.from({ length: 200 }, (_, index) => lineOf(`witness.example/w${index}`)).join('');
  const twice = signNote(text, [log, signerOf(createSigningKey('keywarden.example/log', 'log'))], 0);
  for (const odd of [
    many,
    lineOf('long', 100_000),
    lineOf('odd\u0001name'),
    lineOf('odd\ufffdname'),
    lineOf('short', 5),
  ])
    for (const own of [signed, twice]) expect(openNote(addSignatures(own, odd), [log.verifier])).not.toBeNull();
});

test('extension lines of a checkpoint are not empty, and a delete character is none that notes forbid', () => {
  expect(parseCheckpoint(`${text}extension\n`)).toMatchObject({ size: 7 });
  for (const odd of [`${text}\nextension\n`, `${text}\n`, text.slice(0, -1), `\n${text}`])
    expect(parseCheckpoint(odd)).toBeNull();
  expect(openNote(signNote('a\u007fb\n', [log], 0), [log.verifier])?.text).toBe('a\u007fb\n');
  for (const odd of ['\u0000', '\t', '\r', '\u001f', '\ufffd'])
    expect(openNote(signNote(`a${odd}b\n`, [log], 0), [log.verifier])).toBeNull();
});

test('keys of the same name are told apart, also while a log has two', () => {
  const next = signerOf(createSigningKey('keywarden.example/log', 'log'));
  const both = signNote(text, [log, next], 0);
  expect(openNote(both, [next.verifier])?.signatures).toHaveLength(1);
  expect(openNote(both, [log.verifier])?.signatures).toHaveLength(1);
  expect(openNote(note, [next.verifier])).toBeNull();
});

test.each([
  ['another text', (each: string) => each.replace('\n7\n', '\n8\n')],
  ['no signature', () => `${text}\n`],
  ['a changed signature', (each: string) => each.replace(/.{4}=*\n$/, 'AAAA\n')],
  [
    'a time that the witness did not sign',
    () =>
      note.replace(/(— witness\.example\/w1 )(\S+)/, (_all, start: string, line: string) => {
        const bytes = Buffer.from(line, 'base64');
        bytes[11] = (bytes[11] ?? 0) ^ 1;
        return start + bytes.toString('base64');
      }),
  ],
  ['a carriage return', (each: string) => each.replace('\n', '\r\n')],
  ['no newline at the end', (each: string) => each.slice(0, -1)],
  ['a hyphen in place of the dash', (each: string) => each.replaceAll('—', '-')],
  ['bytes that are no UTF-8', (each: string) => each.replace('keywarden', '\ufffd')],
  ['101 signatures', (each: string) => each + each.split('\n').at(-2)?.concat('\n').repeat(100)],
  ['too many letters', () => signNote(`${text}${'x\n'.repeat(50_000)}`, [log], 0)],
  ['no text', () => signNote('', [log], 0)],
  ['a signature under another name', () => signNote(text, [log], 0).replace('— key', '— other')],
  ['something before a signature', (each: string) => each.replace('— witness', 'x— witness')],
  ['something after a signature', (each: string) => each.replace(/\n$/, ' x\n')],
  ['a cosignature that is cut', (each: string) => each.replace(/(— witness\S+ .{12}).+/, '$1')],
  ['a line without a signature', (each: string) => `${each}— x AAAAAA==\n`],
])('a note with %s does not open', (_what, change) => {
  expect(openNote(change(note), keys)).toBeNull();
});

test('a signature with a byte before it is none', () => {
  for (const { verifier } of [log, witness, quantumSafe]) {
    const [line = '', encoded = ''] = new RegExp(`— ${verifier.name} (.+)`).exec(note) ?? [];
    const bytes = Buffer.from(encoded, 'base64');
    const longer = Buffer.concat([bytes.subarray(0, -64), Buffer.of(0), bytes.subarray(-64)]).toString('base64');
    const opened = openNote(note.replace(line, `— ${verifier.name} ${longer}`), keys);
    expect(opened).toBeNull();
  }
});

test('a signature that is there twice counts once', () => {
  const twice = `${note}${note.slice(text.length + 1)}`;
  expect(openNote(twice, [log.verifier, witness.verifier])?.signatures).toHaveLength(2);
});

test('an unknown signature is left out, and no key opens nothing', () => {
  expect(splitNote(note)?.lines).toHaveLength(3);
  expect(openNote(note, [])).toBeNull();
});

test.each([
  '',
  'name+00000000+AAAA',
  `${log.verifier.text}x`,
  log.verifier.text.replace(/\+[\da-f]{8}\+/, '+00000000+'),
  `x ${log.verifier.text}`,
  `${log.verifier.text} x`,
  // A key of no known type, with its own id.
  'name+e29f44b3+AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
])('%s is no key', (broken) => {
  expect(parseVerifier(broken)).toBeNull();
  expect(parseSigningKey(`PRIVATE+KEY+${broken}`)).toBeNull();
});

test('a private key has nothing before or after it', () => {
  const whole = createSigningKey('name', 'log');
  expect([whole, `x ${whole}`, `${whole} x`].map((each) => parseSigningKey(each) !== null)).toEqual([
    true,
    false,
    false,
  ]);
});

test.each([
  'a\n1\n',
  'a\n01\nxx\n',
  `\n1\n${emptyRoot.toString()}\n`,
  text.replace('7', '9007199254740993'),
  text.slice(0, -1),
])('%j is no checkpoint', (broken) => {
  expect(parseCheckpoint(broken)).toBeNull();
});

test('a proof is read as it was written, with extra data and without', () => {
  for (const extra of [null, Buffer.from('{"x":1}')]) {
    const proof = { extra, index: 5, hashes: [emptyRoot, emptyRoot], checkpoint: note };
    expect(parseProof(formatProof(proof))).toEqual(proof);
  }
  const whole = formatProof({ extra: null, index: 5, hashes: [emptyRoot], checkpoint: note });
  for (const broken of [
    '',
    whole.replace('@v1', '@v2'),
    whole.replace('index 5', 'index 05'),
    whole.replace('=\n\n', '\n\n'),
  ])
    expect(parseProof(broken)).toBeNull();
});
